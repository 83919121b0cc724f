//! Which events of a child are worth a look at its app.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use serde_json::{Value, json};

use super::*;

fn autoscaler(version: u32, spec: &Value, status: &Value) -> Event<View<HorizontalPodAutoscaler>> {
    let metadata = json!({
        "namespace": "team", "name": "web", "uid": "u", "resourceVersion": version.to_string(),
        "labels": { "egplatform.platform.evillgenius.com/egapp": "web" },
    });
    let object = json!({ "metadata": metadata, "spec": spec, "status": status });
    Event::Apply(serde_json::from_value(object).unwrap())
}

#[test]
fn what_an_autoscaler_has_measured_is_no_news_and_what_is_asked_of_it_is() {
    let caches = Caches::default();
    let touched = |event| keep::<HorizontalPodAutoscaler>(&caches, event);
    let (web, none) = ([ObjectKey::new("team", "web")], json!({}));
    let spec = json!({ "maxReplicas": 5 });
    assert_eq!(touched(autoscaler(1, &spec, &none)), web);
    assert_eq!(touched(autoscaler(2, &spec, &json!({ "currentReplicas": 3 }))), []);
    assert_eq!(caches.autoscalers.get(&web[0]).unwrap().version(), "2", "the newest is kept all the same");
    assert_eq!(touched(autoscaler(3, &json!({ "maxReplicas": 6 }), &none)), web);
}

#[test]
fn the_text_of_an_object_is_kept_where_an_egapp_owns_it_and_it_is_of_usual_size() {
    let caches = Caches::default();
    let kept = |version: u32, owner: &str, size: usize| {
        let event =
            autoscaler(version, &json!({ "replicas": 3, "maxReplicas": "m".repeat(size) }), &json!({}));
        let event = map_event(event, |mut view| {
            view.meta_mut().owner_references = (!owner.is_empty()).then(|| {
                vec![OwnerReference {
                    api_version: "egplatform.platform.evillgenius.com/v1alpha1".to_owned(),
                    kind: "EGApp".to_owned(),
                    name: owner.to_owned(),
                    controller: Some(true),
                    ..OwnerReference::default()
                }]
            });
            view
        });
        keep::<HorizontalPodAutoscaler>(&caches, event);
        let live = caches.autoscalers.get(&ObjectKey::new("team", "web")).unwrap();
        assert!(live.digest() != 0, "a change is seen in any case");
        assert_eq!(live.details.as_ref().unwrap().replicas(), Some(3));
        live.is_whole()
    };
    assert!(!kept(1, "", 10));
    assert!(kept(2, "web", 10));
    assert!(!kept(3, "web", 100_000));
}
