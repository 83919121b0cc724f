//! Every rule for values: what is wrong and what is allowed.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::check::{MAX_SECONDS, OPERATOR_VARIABLES, check};
use super::config::{App, PlatformConfig};
use super::variables::Variables;

/// What is wrong with the built-in platform once it is changed so: `key problem`, each.
fn findings(change: impl FnOnce(&mut PlatformConfig)) -> Vec<String> {
    let mut config = PlatformConfig::default();
    change(&mut config);
    check(&config).iter().map(|finding| format!("{} {}", finding.key, finding.problem)).collect()
}

fn percent(text: &str) -> IntOrString {
    IntOrString::String(text.to_owned())
}

#[test]
fn nothing_is_wrong_with_the_built_in_platform() {
    assert_eq!(findings(|_| ()), [""; 0]);
}

#[test]
fn everything_is_found_at_once() {
    let found = findings(|config| {
        config.sizes.low_mem.cpu = "lots".to_owned();
        config.frameworks.go.port = 0;
        config.catalog_label = "a b".to_owned();
    });
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn cpu_is_a_quantity_above_zero() {
    for bad in ["", "lots", "0", "-1", "250 m", "1.2.3"] {
        let found = findings(|config| bad.clone_into(&mut config.sizes.high_cpu.cpu));
        assert_eq!(
            found,
            [format!("sizes.highCPU.cpu is {bad:?}; use a quantity above 0, such as 250m or 0.5")]
        );
    }
}

#[test]
fn memory_is_a_quantity_of_one_mebibyte_or_more() {
    for bad in ["", "much", "256m", "256", "1023Ki", "0", "-1Gi"] {
        let found = findings(|config| bad.clone_into(&mut config.sizes.balanced.memory));
        assert_eq!(
            found,
            [format!(
                "sizes.balanced.memory is {bad:?}; use a quantity of at least 1Mi, such as 256Mi or 2Gi"
            )]
        );
    }
    assert_eq!(findings(|config| "1Mi".clone_into(&mut config.sizes.balanced.memory)), [""; 0]);
}

#[test]
fn ports_and_seconds_have_their_range() {
    for bad in [-1, 0, 65536] {
        let found = findings(|config| config.frameworks.java.port = bad);
        assert_eq!(found, [format!("frameworks.java.port is {bad}; use a whole number from 1 to 65535")]);
    }
    let found = findings(|config| config.frameworks.python.startup_seconds = 0);
    assert_eq!(found, ["frameworks.python.startupSeconds is 0; use a whole number from 1 to 86400"]);
    let found = findings(|config| config.environments.dev.pre_stop_seconds = -1);
    assert_eq!(found, ["environments.dev.preStopSeconds is -1; use a whole number from 0 to 86400"]);
    let found = findings(|config| config.environments.dev.min_ready_seconds = -1);
    assert_eq!(found, ["environments.dev.minReadySeconds is -1; use a whole number from 0 to 86400"]);
    let found = findings(|config| config.environments.dev.progress_deadline_seconds = MAX_SECONDS + 1);
    assert_eq!(
        found,
        ["environments.dev.progressDeadlineSeconds is 86401; use a whole number from 1 to 86400"]
    );
}

#[test]
fn rollouts_move_by_a_number_or_a_percentage() {
    let allowed = "use a number of pods from 0, or a percentage from 0% to 100%";
    for (bad, shown) in [
        (IntOrString::Int(-1), "-1"),
        (percent("25"), "\"25\""),
        (percent("101%"), "\"101%\""),
        (percent("-5%"), "\"-5%\""),
        (percent("+5%"), "\"+5%\""),
        (percent("%"), "\"%\""),
        (percent("some"), "\"some\""),
    ] {
        let found = findings(|config| config.environments.stage.max_surge = bad);
        assert_eq!(found, [format!("environments.stage.maxSurge is {shown}; {allowed}")]);
    }
    let found = findings(|config| config.environments.stage.max_unavailable = percent("many"));
    assert_eq!(found, [format!("environments.stage.maxUnavailable is \"many\"; {allowed}")]);
    assert_eq!(findings(|config| config.environments.stage.max_surge = percent("100%")), [""; 0]);
}

#[test]
fn rollouts_that_cannot_move_are_refused() {
    for zero in [IntOrString::Int(0), percent("0%")] {
        let found = findings(|config| config.environments.prod.max_surge = zero);
        assert_eq!(
            found,
            [
                "environments.prod.maxUnavailable is 0 and so is maxSurge, so that no rollout could ever move; raise \
                 one of them"
            ]
        );
    }
}

#[test]
fn the_deadline_is_later_than_min_ready() {
    let found = findings(|config| config.environments.prod.min_ready_seconds = 600);
    assert_eq!(
        found,
        [
            "environments.prod.progressDeadlineSeconds is 600; it must be more than minReadySeconds, which is 600"
        ]
    );
}

#[test]
fn the_deadline_leaves_time_to_start() {
    let found = findings(|config| config.environments.dev.progress_deadline_seconds = 180);
    assert_eq!(
        found,
        [
            "environments.dev.progressDeadlineSeconds is 180; it must be more than frameworks.java.startupSeconds, \
             which is 180"
        ]
    );
}

#[test]
fn against_built_in_environments_the_framework_is_at_fault() {
    let found = findings(|config| config.frameworks.java.startup_seconds = 300);
    assert_eq!(
        found,
        [
            "frameworks.java.startupSeconds is 300; it must be less than environments.dev.progressDeadlineSeconds, \
             which is 300"
        ]
    );
}

#[test]
fn variables_have_names_that_the_operator_does_not_set_itself() {
    let set = |name: &str| findings(|config| config.frameworks.go.env = Variables::from_iter([(name, "1")]));
    for bad in ["", "1A", "A B", "A=B", "..A", "é"] {
        assert_eq!(
            set(bad),
            [format!(
                "frameworks.go.env.{bad} is no name of a variable; use letters, digits, '_', '-' and '.', not \
                 starting with a digit"
            )]
        );
    }
    for taken in OPERATOR_VARIABLES.into_iter().chain(["GOMEMLIMIT"]) {
        assert_eq!(set(taken), [format!("frameworks.go.env.{taken} is set by the operator; leave it out")]);
    }
    let found =
        findings(|config| config.frameworks.java.env = Variables::from_iter([("GOMEMLIMIT", "1GiB")]));
    assert_eq!(found, [""; 0], "only goMemLimit sets it");
}

#[test]
fn the_catalogue_label_is_a_label_key_or_empty() {
    let set = |key: &str| findings(|config| key.clone_into(&mut config.catalog_label));
    for good in ["", "id", "backstage.io/kubernetes-id", "a-b.c/D_e.f", &format!("x/{}", "n".repeat(63))] {
        assert_eq!(set(good), [""; 0], "{good}");
    }
    for bad in [
        "a b",
        "-a",
        "a-",
        "/a",
        "a/",
        "a/b/c",
        "A.io/b",
        "a..b/c",
        "-a.b/c",
        &"n".repeat(64),
        &format!("{}/a", "p".repeat(254)),
    ] {
        assert_eq!(
            set(bad),
            [format!(
                "catalogLabel is {bad:?}; use a label key, such as backstage.io/kubernetes-id, or \"\" for no such label"
            )]
        );
    }
    for taken in [egapp_api::labels::EGAPP, "app.kubernetes.io/name"] {
        assert_eq!(
            set(taken),
            [format!(
                "catalogLabel is {taken:?}, which is among the labels that the operator writes; use another prefix"
            )]
        );
    }
}

#[test]
fn images_are_references_without_white_space() {
    let allowed = "use an image reference of 1 to 512 characters without white space, such as \
                   registry.example.com/team/web:1.4.2";
    for bad in ["", "a b", "a\n", "é", &"a".repeat(513)] {
        let image = || Some(bad.to_owned());
        let found = findings(|config| {
            let mut app = App { image: image(), ..App::default() };
            app.environments.prod = image();
            config.images.apps.insert("billing".to_owned(), app);
            config.images.starters.go.as_mut().unwrap().image = bad.to_owned();
        });
        let keys = [
            "images.apps.billing.image",
            "images.apps.billing.environments.prod",
            "images.starters.go.image",
        ];
        assert_eq!(found, keys.map(|key| format!("{key} is {bad:?}; {allowed}")));
    }
}

#[test]
fn an_app_of_the_catalogue_has_an_app_id_and_an_image() {
    let insert = |id: &str, image: Option<&str>| {
        findings(|config| {
            let app = App { image: image.map(str::to_owned), ..App::default() };
            config.images.apps.insert(id.to_owned(), app);
        })
    };
    for bad in ["", "a b", "-a", "a/b", &"a".repeat(64)] {
        assert_eq!(
            insert(bad, Some("i")),
            [format!(
                "images.apps.{bad} cannot be an appId; use 1 to 63 letters, digits, '-', '_' and '.', starting and \
                 ending with a letter or digit"
            )]
        );
    }
    assert_eq!(
        insert("billing", None),
        ["images.apps.billing names no image; give it image, or environments with one"]
    );
}

#[test]
fn a_starter_is_no_root_and_its_environments_are_known() {
    for bad in [0, -1, 2_147_483_648] {
        let found = findings(|config| config.images.starters.go.as_mut().unwrap().run_as_user = Some(bad));
        assert_eq!(
            found,
            [format!("images.starters.go.runAsUser is {bad}; use a whole number from 1 to 2147483647")]
        );
    }
    let narrow = |names: &[&str]| {
        let names = names.iter().map(ToString::to_string).collect();
        findings(|config| config.images.starters.java.as_mut().unwrap().environments = Some(names))
    };
    assert_eq!(
        narrow(&[]),
        [
            "images.starters.java.environments is empty; name one of dev, stage, prod, or leave it out to allow all"
        ]
    );
    assert_eq!(
        narrow(&["dev", "test"]),
        ["images.starters.java.environments[1] is \"test\"; use one of dev, stage, prod"]
    );
}

#[test]
fn a_change_reaches_each_environment_once_and_some_apps_at_a_time() {
    for (bad, shown) in [
        (vec!["dev", "prod"], "dev, prod"),
        (vec!["dev", "stage", "stage"], "dev, stage, stage"),
        (vec!["dev", "stage", "live"], "dev, stage, live"),
        (vec!["dev", "stage", "prod", "dev"], "dev, stage, prod, dev"),
    ] {
        let found = findings(|config| config.rollout.order = bad.iter().map(ToString::to_string).collect());
        assert_eq!(found, [format!("rollout.order is [{shown}]; name each of dev, stage, prod once")]);
    }
    let found = findings(|config| config.rollout.max_concurrent = 0);
    assert_eq!(found, ["rollout.maxConcurrent is 0; use a whole number from 1 to 1000"]);
    let found = findings(|config| config.rollout.max_failing = -1);
    assert_eq!(found, ["rollout.maxFailing is -1; use a whole number from 0 to 1000"]);
}
