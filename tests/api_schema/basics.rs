//! The object as a whole, the blog post's fields, image and catalogue key.

use egapp_api::v1alpha1::{Environment, Framework, InstanceType};
use serde_json::json;

use crate::egapps::{Egapps, is_refused, least};

#[tokio::test]
async fn framework_and_environment_alone_are_enough_and_the_rest_is_defaulted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let app = apps.create_least("web").await.unwrap();
    let spec = json!({
        "framework": "go", "environment": "dev", "instanceType": "lowMem", "replicaCount": 1, "suspend": false,
        "service": { "enabled": true, "port": 80 },
    });
    assert_eq!(app["spec"], spec);
    assert_eq!(app["status"], json!({ "observedGeneration": -1 }), "as if it were finished already");
}

#[tokio::test]
async fn null_means_unset() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let nulls =
        json!({ "instanceType": null, "replicaCount": null, "suspend": null, "image": null, "appId": null });
    let app = apps.try_spec(nulls).await.unwrap().unwrap();
    let bare = apps.try_spec(json!({})).await.unwrap().unwrap();
    assert_eq!(app["spec"], bare["spec"]);

    apps.create_least("web").await.unwrap();
    apps.patch("web", json!({ "spec": { "replicaCount": 3 } })).await.unwrap().unwrap();
    let app = apps.patch("web", json!({ "spec": { "replicaCount": null } })).await.unwrap().unwrap();
    assert_eq!(app["spec"]["replicaCount"], 1);
}

#[tokio::test]
async fn missing_spec_is_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for fields in [json!({}), json!({ "spec": null })] {
        let answer = apps.try_object("web", fields).await.unwrap();
        assert!(is_refused(&answer, "spec", "Required value"), "{answer:?}");
    }
    apps.create_least("web").await.unwrap();
    let answer = apps.patch("web", json!({ "spec": null })).await.unwrap();
    assert!(is_refused(&answer, "spec", "Required value"), "{answer:?}");
}

#[tokio::test]
async fn missing_framework_and_environment_are_refused_by_name() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let answer = apps.try_object("web", json!({ "spec": {} })).await.unwrap();
    for field in ["spec.framework", "spec.environment"] {
        assert!(is_refused(&answer, field, "Required value"), "{field}: {answer:?}");
    }
}

#[tokio::test]
async fn unknown_words_are_refused_and_the_known_ones_named() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let cases = [
        ("framework", "cobol", r#""cobol": supported values: "java", "python", "go""#),
        ("framework", "unknown", r#""unknown": supported values: "java", "python", "go""#),
        ("framework", "", r#""": supported values: "java", "python", "go""#),
        ("environment", "moon", r#""moon": supported values: "dev", "stage", "prod""#),
        (
            "instanceType",
            "lowmem",
            r#""lowmem": supported values: "lowMem", "highMem", "highCPU", "balanced""#,
        ),
    ];
    for (field, word, message) in cases {
        let answer = apps.try_spec(json!({ field: word })).await.unwrap();
        assert!(is_refused(&answer, &format!("spec.{field}"), message), "{field}: {answer:?}");
    }
}

#[tokio::test]
async fn every_word_of_the_types_is_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for (field, words) in [
        ("framework", json!(Framework::ALL)),
        ("environment", json!(Environment::ALL)),
        ("instanceType", json!(InstanceType::ALL)),
    ] {
        for word in words.as_array().unwrap() {
            let app = apps.try_spec(json!({ field: word })).await.unwrap().unwrap();
            assert_eq!(&app["spec"][field], word);
        }
    }
}

#[tokio::test]
async fn fewer_replicas_than_none_and_more_than_any_cluster_has_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let answer = apps.try_spec(json!({ "replicaCount": -1 })).await.unwrap();
    assert!(is_refused(&answer, "spec.replicaCount", "should be greater than or equal to 0"), "{answer:?}");
    let answer = apps.try_spec(json!({ "replicaCount": 150_001 })).await.unwrap();
    assert!(is_refused(&answer, "spec.replicaCount", "should be less than or equal to 150000"), "{answer:?}");
    assert!(apps.try_spec(json!({ "replicaCount": 150_000 })).await.unwrap().is_ok());
    let app = apps.try_spec(json!({ "replicaCount": 0 })).await.unwrap().unwrap();
    assert_eq!(app["spec"]["replicaCount"], 0);
}

#[tokio::test]
async fn names_that_fit_no_service_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let shape = "must consist of lower-case letters, digits and '-', start with a letter and end with a letter or digit, \
                 like the name of a Service";
    let length = "must have no more than 63 characters, like the name of a Service";
    let too_long = "n".repeat(64);
    for (name, message) in [("web.v2", shape), ("2048", shape), ("0web", shape), (&too_long, length)] {
        let answer = apps.try_object(name, json!({ "spec": least() })).await.unwrap();
        assert!(is_refused(&answer, "metadata.name", message), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn names_that_fit_a_service_are_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for name in ["w", "web-2", &"n".repeat(63)] {
        let answer = apps.try_object(name, json!({ "spec": least() })).await.unwrap();
        assert!(answer.is_ok(), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn images_that_name_nothing_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let one = "must be one image reference without white space, control or non-ASCII characters";
    let long = "a".repeat(513);
    for (image, message) in [
        ("", "must not be empty; name an image such as"),
        ("web 1", one),
        ("web:1\n", one),
        ("web\u{a0}:1", one),
        (&long, "Too long: may not be more than 512"),
    ] {
        let answer = apps.try_spec(json!({ "image": image })).await.unwrap();
        assert!(is_refused(&answer, "spec.image", message), "{image:?}: {answer:?}");
    }
}

#[tokio::test]
async fn images_that_no_kubelet_can_read_are_refused_once_with_the_form() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let long_tag = format!("web:{}", "t".repeat(129));
    for image in [
        ":::@@@",
        "https://registry.example.com/web",
        "registry.example.com/Team/web",
        "Web",
        "team//web",
        "/web",
        "web/",
        "web:",
        "web:1:2",
        "web:.1",
        &long_tag,
        "web@sha256",
        "web@sha256:0f",
        "registry.example.com:/web",
        "-registry.example.com/web",
        "team/.web",
        "team/a___b",
        "team/a..b",
        "web-",
    ] {
        let answer = apps.try_spec(json!({ "image": image })).await.unwrap();
        let form = "must be an image reference [registry[:port]/]path[:tag][@digest]";
        assert!(is_refused(&answer, "spec.image", form), "{image:?}: {answer:?}");
        assert_eq!(answer.unwrap_err().len(), 1, "{image:?}");
    }
}

#[tokio::test]
async fn images_of_every_legal_form_are_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let sha256 = format!("sha256:{}", "0f".repeat(32));
    let longest = format!("web:{}", "t".repeat(128));
    for image in [
        "web",
        "library/web:latest",
        "localhost:5000/web",
        "127.0.0.1:5000/web",
        "[2001:db8::1]:5000/web",
        "REGISTRY.Example.com/team/web",
        "UPPER/web:V1.0_RC-1",
        "registry.example.com/a-b--c/d_e__f.g/0",
        &longest,
        &format!("web@{sha256}"),
        &format!("registry.example.com:5000/team/web_app:1.4-rc.2@{sha256}"),
        &format!("web@sha512+b64u.x:{}", "aF".repeat(16)),
    ] {
        let app = apps.try_spec(json!({ "image": image })).await.unwrap().unwrap();
        assert_eq!(app["spec"]["image"], image);
    }
}

#[tokio::test]
async fn app_id_is_empty_or_fit_for_a_label() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let shape = "must be empty or consist of letters, digits, '-', '_' and '.'";
    let (longest, too_long) = ("i".repeat(63), "i".repeat(64));
    for (id, message) in [
        ("-cart", shape),
        ("cart.", shape),
        ("shopping cart", shape),
        ("cart/1", shape),
        (&too_long, "Too long: may not be more than 63"),
    ] {
        let answer = apps.try_spec(json!({ "appId": id })).await.unwrap();
        assert!(is_refused(&answer, "spec.appId", message), "{id}: {answer:?}");
    }
    for id in ["", "c", "Cart_1.x-y", &longest] {
        let answer = apps.try_spec(json!({ "appId": id })).await.unwrap();
        assert!(answer.is_ok(), "{id}: {answer:?}");
    }
}
