//! `spec.autoscaling`.

use serde_json::{Value, json};

use crate::egapps::Egapps;

fn bounds(min: i64, max: i64) -> Value {
    json!({ "autoscaling": { "minReplicas": min, "maxReplicas": max } })
}

#[tokio::test]
async fn bounds_in_order_are_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let aim = |percent: i64, most: i64| json!({ "autoscaling": { "minReplicas": 1, "maxReplicas": most, "targetCPUUtilizationPercentage": percent } });
    apps.keeps([aim(1, 1), aim(80, 150_000), aim(1000, 2)]).await;
    let defaults = apps.try_spec(json!({ "autoscaling": { "maxReplicas": 3 } })).await.unwrap().unwrap();
    let expected = json!({ "minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 80 });
    assert_eq!(defaults["spec"]["autoscaling"], expected);
}

#[tokio::test]
async fn bounds_out_of_order_or_out_of_range_are_refused_by_the_fields_name() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let (least, most) = ("spec.autoscaling.minReplicas", "spec.autoscaling.maxReplicas");
    let aim = |percent: i64| json!({ "autoscaling": { "maxReplicas": 2, "targetCPUUtilizationPercentage": percent } });
    let aim_at = "spec.autoscaling.targetCPUUtilizationPercentage";
    apps.refuses([
        (bounds(3, 2), least, "must be no more than maxReplicas"),
        (bounds(0, 2), least, "should be greater than or equal to 1"),
        (bounds(1, 0), most, "should be greater than or equal to 1"),
        (bounds(1, 150_001), most, "should be less than or equal to 150000"),
        (json!({ "autoscaling": {} }), most, "Required value"),
        (aim(0), aim_at, "should be greater than or equal to 1"),
        (aim(1001), aim_at, "should be less than or equal to 1000"),
    ])
    .await;
}
