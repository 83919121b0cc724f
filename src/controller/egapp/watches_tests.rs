//! Which events of a child are worth a look at its app.

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
