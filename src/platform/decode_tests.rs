//! Every fault of a file's structure: place, key, what is wrong, what is allowed.

use super::decode::decode;

const HEAD: &str = "apiVersion: config.platform.evillgenius.com/v1alpha1\nkind: PlatformConfig\n";

/// The message about `HEAD` and `rest`, which begins on line 3.
fn fault(rest: &str) -> String {
    decode(&format!("{HEAD}{rest}")).unwrap_err().to_string()
}

#[test]
fn a_file_of_two_lines_is_the_built_in_platform() {
    assert_eq!(decode(HEAD).unwrap(), super::PlatformConfig::default());
}

#[test]
fn unknown_keys_are_named_with_their_place_and_what_is_allowed() {
    for (rest, message) in [
        (
            "size: {}\n",
            "3:1: size is not a key of this file; allowed here: apiVersion, kind, images, catalogLabel, sizes, \
             frameworks, environments, rollout",
        ),
        (
            "sizes:\n  lowMem:\n    cpu: 250m\n    mem: 1Gi\n",
            "6:5: sizes.lowMem.mem is not a key of this file; allowed here: cpu, memory",
        ),
        (
            "images:\n  apps:\n    billing: {image: a, environments: {production: b}}\n",
            "5:40: images.apps.billing.environments.production is not a key of this file; allowed here: dev, stage, prod",
        ),
        (
            "images:\n  starters: {rust: {image: a}}\n",
            "4:14: images.starters.rust is not a key of this file; allowed here: java, python, go",
        ),
    ] {
        assert_eq!(fault(rest), message);
    }
}

#[test]
fn missing_keys_are_named_and_what_helps() {
    let keep = |section: &str| {
        format!("is missing; add it, or leave out the whole of {section} to keep the built-in values")
    };
    let size = "{cpu: 1, memory: 1Gi}";
    for (rest, message) in [
        (
            format!("# mine\nsizes:\n  lowMem: {size}\n  highMem: {size}\n  highCPU: {size}\n"),
            format!("4:1: sizes.balanced {}", keep("sizes")),
        ),
        ("sizes:\n  lowMem: {cpu: 1}\n".to_owned(), format!("4:3: sizes.lowMem.memory {}", keep("sizes"))),
        (
            "frameworks:\n  java: {port: 80, startupSeconds: 9}\n".to_owned(),
            format!("3:1: frameworks.python {}", keep("frameworks")),
        ),
        ("environments: {dev: {}}\n".to_owned(), format!("3:1: environments.stage {}", keep("environments"))),
        (
            "images:\n  starters:\n    go: {command: [a]}\n".to_owned(),
            "5:5: images.starters.go.image is missing; add it".to_owned(),
        ),
    ] {
        assert_eq!(fault(&rest), message);
    }
}

#[test]
fn wrong_types_are_told_in_words() {
    for (rest, message) in [
        ("sizes: 3\n", "3:1: sizes must be a mapping of keys to values"),
        ("sizes:\n", "3:1: sizes must be a mapping of keys to values"),
        ("sizes:\n- a\n", "3:1: sizes must be a mapping of keys to values"),
        ("catalogLabel: [a]\n", "3:1: catalogLabel must be one text"),
        ("catalogLabel:\n", "3:1: catalogLabel has no value; it must be a text"),
        ("frameworks:\n  java: {port: http}\n", "4:10: frameworks.java.port must be a whole number"),
        ("frameworks:\n  java: {port: 99999999999}\n", "4:10: frameworks.java.port must be a whole number"),
        (
            "frameworks:\n  java: {env: [A]}\n",
            "4:10: frameworks.java.env must be a mapping of keys to values",
        ),
        ("frameworks:\n  java: {env: {A: [1]}}\n", "4:16: frameworks.java.env.A must be one text"),
        ("environments:\n  dev: {spread: yes}\n", "4:9: environments.dev.spread must be true or false"),
        (
            "environments:\n  dev: {imagePullPolicy: Sometimes}\n",
            "4:9: environments.dev.imagePullPolicy is \"Sometimes\"; use Always, IfNotPresent or Never",
        ),
        (
            "environments:\n  dev: {maxSurge: 1.5}\n",
            "4:9: environments.dev.maxSurge must be a number of pods, such as 1, or a percentage, such as 25%",
        ),
        (
            "environments:\n  dev: {maxSurge: [1]}\n",
            "4:9: environments.dev.maxSurge must be a number of pods, such as 1, or a percentage, such as 25%",
        ),
        (
            "environments:\n  dev: {maxSurge: 3000000000}\n",
            "4:9: environments.dev.maxSurge must be a number of pods, such as 1, or a percentage, such as 25%",
        ),
        (
            "images:\n  starters: {go: {image: a, command: ls}}\n",
            "4:29: images.starters.go.command must be a list, such as [a, b]",
        ),
        (
            "images:\n  starters: {go: {image: a, command: [ls, [a]]}}\n",
            "4:43: images.starters.go.command[1] must be one text",
        ),
        (
            "images:\n  apps:\n    billing: registry.example.com/billing:1\n",
            "5:5: images.apps.billing must be a mapping of keys to values",
        ),
    ] {
        assert_eq!(fault(rest), message, "{rest}");
    }
}

#[test]
fn what_is_no_platform_file_is_told_how_one_begins() {
    let head = "apiVersion: config.platform.evillgenius.com/v1alpha1 and kind: PlatformConfig";
    for (text, message) in [
        ("", format!("1:1: the file is empty; it must begin with {head}")),
        ("# nothing\n", format!("2:1: the file is empty; it must begin with {head}")),
        ("hello\n", "1:1: must be a mapping of keys to values".to_owned()),
        ("kind: PlatformConfig\n", format!("1:1: apiVersion is missing; the file must begin with {head}")),
        (
            "apiVersion: config.platform.evillgenius.com/v2\n",
            "1:1: apiVersion is \"config.platform.evillgenius.com/v2\"; use config.platform.evillgenius.com/v1alpha1"
                .to_owned(),
        ),
        ("kind: ConfigMap\n", "1:1: kind is \"ConfigMap\"; use PlatformConfig".to_owned()),
    ] {
        assert_eq!(decode(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn keys_that_are_there_twice_and_second_documents_are_refused() {
    assert_eq!(fault("sizes: {lowMem: {cpu: 1, cpu: 2}}\n"), "3:26: sizes.lowMem.cpu is there twice");
    assert_eq!(fault("kind: PlatformConfig\n"), "3:1: kind is there twice");
    assert_eq!(fault("---\na: 1\n"), "4:1: a second document begins here; the file must hold one");
}

#[test]
fn what_is_no_yaml_is_placed_too() {
    assert_eq!(
        fault("sizes: {lowMem: [\n"),
        "3:17: sizes.lowMem must be a mapping of keys to values",
        "the parser streams, so the first fault is not always the unclosed bracket"
    );
    assert_eq!(fault("catalogLabel: \"a\nsizes: {}\n"), "3:15: cannot be read: unclosed quote");
    assert_eq!(fault("\tsizes: {}\n"), "2:7: cannot be read: while scanning a plain scalar, found a tab");
    assert_eq!(fault("sizes: *mine\n"), "3:8: cannot be read: reference to unknown value");
}

#[test]
fn aliases_are_followed_and_faults_in_them_named_at_their_use() {
    let anchored =
        "sizes:\n  lowMem: &s {cpu: 1, memory: 1Gi}\n  highMem: *s\n  highCPU: *s\n  balanced: *s\n";
    assert_eq!(decode(&format!("{HEAD}{anchored}")).unwrap().sizes.balanced.memory, "1Gi");
    let message = fault("frameworks:\n  java: &j {port: http}\n  python: *j\n");
    assert_eq!(message, "4:13: frameworks.java.port must be a whole number");
}

#[test]
fn variables_keep_their_order_and_numbers_their_spelling() {
    let text = format!(
        "{HEAD}frameworks:\n  java: {{port: 80, startupSeconds: 9, env: {{Z: 1.10, A: $(Z), M: 'no'}}}}\n  python: &p {{port: 80, startupSeconds: 9}}\n  go: *p\n"
    );
    let config = decode(&text).unwrap();
    let variables: Vec<_> = config.frameworks.java.env.iter().collect();
    assert_eq!(variables, [("Z", "1.10"), ("A", "$(Z)"), ("M", "no")]);
}
