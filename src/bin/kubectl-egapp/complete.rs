//! Completion of `kubectl egapp …`, which kubectl asks a program `kubectl_complete-egapp` for: this one under that name.
//! It is called with the words so far, the last of which is to be completed, and answers as cobra's hidden `__complete`:
//! a candidate a line, with its description after a tab, and `:DIRECTIVE` at the end. Reads from the cluster.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Arg, Command};
use egapp_api::v1alpha1::EGApp;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;
use kube::config::Kubeconfig;
use tokio::time::timeout;

use crate::args::ClusterChoice;
use crate::cluster::Cluster;
use crate::output;

/// The name under which kubectl calls.
const NAME: &str = "kubectl_complete-egapp";

/// A shell that waits longer is worse than one that completes nothing.
const PATIENCE: Duration = Duration::from_secs(3);

/// More are no help to anybody.
const MOST: u32 = 500;

/// What can stand in a place of the command line.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// One of these words, each with what it means.
    Words(Vec<(String, String)>),
    Apps,
    Namespaces,
    Contexts,
    Files,
    /// Nobody knows.
    Anything,
}

/// Where the last word stands, and what the words before it say.
#[derive(Debug)]
struct Line {
    place: Place,
    /// The part of the last word that is not to be completed, such as `--output=`.
    head: String,
    choice: ClusterChoice,
}

/// Whether the program was called to complete.
pub(crate) fn is_asked(program: Option<&OsStr>) -> bool {
    program.and_then(|path| Path::new(path).file_stem()) == Some(OsStr::new(NAME))
}

/// Answers kubectl. What cannot be found out is no candidate, and no error: it would stand amid the command line.
pub(crate) async fn run(mut command: Command, words: &[String]) {
    command.build();
    let Line { place, head, choice } = parse(&command, words);
    let plain = |names: Vec<String>| names.into_iter().map(|name| (name, String::new())).collect();
    let (candidates, directive) = match place {
        Place::Words(words) => (words, NO_FILES),
        Place::Apps => (plain(apps(&choice).await.unwrap_or_default()), NO_FILES),
        Place::Namespaces => (plain(namespaces(&choice).await.unwrap_or_default()), NO_FILES),
        Place::Contexts => (plain(contexts(&choice)), NO_FILES),
        Place::Files => (Vec::new(), FILES),
        Place::Anything => (Vec::new(), NO_FILES),
    };
    let last = words.last().map(String::as_str).unwrap_or_default();
    let lines = candidates
        .into_iter()
        .map(|(word, about)| (format!("{head}{word}"), about))
        .filter(|(word, _)| word.starts_with(last))
        .map(|(word, about)| if about.is_empty() { word } else { format!("{word}\t{about}") });
    output::lines(lines.chain([format!(":{directive}")]));
}

/// cobra's `ShellCompDirectiveDefault`: the shell completes files.
const FILES: u8 = 0;

/// cobra's `ShellCompDirectiveNoFileComp`.
const NO_FILES: u8 = 4;

fn parse(root: &Command, words: &[String]) -> Line {
    let mut choice = ClusterChoice::default();
    let (last, before) = words.split_last().map_or(("", words), |(last, before)| (last.as_str(), before));
    let (mut command, mut awaited, mut positions) = (root, None, 0);
    for word in before {
        if let Some(arg) = awaited.take() {
            choose(&mut choice, arg, word);
        } else if let Some((arg, value)) = flag(command, word) {
            match value {
                Some(value) => choose(&mut choice, arg, value),
                None => awaited = Some(arg).filter(|arg| arg.get_action().takes_values()),
            }
        } else if let Some(subcommand) = command.find_subcommand(word) {
            command = subcommand;
        } else {
            positions += 1;
        }
    }
    let (place, head) = match (awaited, flag(command, last)) {
        (Some(arg), _) => (values(arg), String::new()),
        (None, Some((arg, Some(value)))) => (values(arg), last.trim_end_matches(value).to_owned()),
        (None, _) if last.starts_with('-') => (flags(command), String::new()),
        (None, _) if command.has_subcommands() => (subcommands(command), String::new()),
        (None, _) => {
            (command.get_positionals().nth(positions).map_or(Place::Anything, values), String::new())
        }
    };
    Line { place, head, choice }
}

/// The flag of that word, with the value that the word has, too.
fn flag<'a, 'b>(command: &'a Command, word: &'b str) -> Option<(&'a Arg, Option<&'b str>)> {
    if let Some(word) = word.strip_prefix("--") {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name))?;
        return Some((arg, value));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    let arg = command.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
    let value = Some(letters.as_str()).filter(|value| !value.is_empty());
    Some((arg, value.map(|value| value.trim_start_matches('='))))
}

fn choose(choice: &mut ClusterChoice, arg: &Arg, value: &str) {
    match arg.get_id().as_str() {
        "namespace" => choice.namespace = Some(value.to_owned()),
        "context" => choice.context = Some(value.to_owned()),
        "kubeconfig" => choice.kubeconfig = Some(PathBuf::from(value)),
        "as_user" => choice.as_user = Some(value.to_owned()),
        "as_group" => choice.as_group.push(value.to_owned()),
        _ => (),
    }
}

fn values(arg: &Arg) -> Place {
    let words = arg.get_possible_values();
    if !words.is_empty() {
        let about =
            |help: Option<&clap::builder::StyledStr>| help.map(ToString::to_string).unwrap_or_default();
        let word =
            |value: &clap::builder::PossibleValue| (value.get_name().to_owned(), about(value.get_help()));
        return Place::Words(words.iter().map(word).collect());
    }
    match arg.get_id().as_str() {
        "name" => Place::Apps,
        "namespace" | "operator_namespace" => Place::Namespaces,
        "context" => Place::Contexts,
        "filename" | "platform_config" | "kubeconfig" => Place::Files,
        _ => Place::Anything,
    }
}

fn flags(command: &Command) -> Place {
    let about = |arg: &Arg| arg.get_help().map(ToString::to_string).unwrap_or_default();
    let flag = |arg: &Arg| Some((format!("--{}", arg.get_long()?), about(arg)));
    Place::Words(command.get_arguments().filter_map(flag).collect())
}

fn subcommands(command: &Command) -> Place {
    let about = |one: &Command| one.get_about().map(ToString::to_string).unwrap_or_default();
    Place::Words(command.get_subcommands().map(|one| (one.get_name().to_owned(), about(one))).collect())
}

async fn apps(choice: &ClusterChoice) -> Option<Vec<String>> {
    let cluster = Cluster::find(choice).await.ok()?;
    names(&Api::<EGApp>::namespaced(cluster.client, &cluster.namespace)).await
}

async fn namespaces(choice: &ClusterChoice) -> Option<Vec<String>> {
    let cluster = Cluster::find(choice).await.ok()?;
    names(&Api::<Namespace>::all(cluster.client)).await
}

async fn names<K>(api: &Api<K>) -> Option<Vec<String>>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let page = ListParams::default().limit(MOST);
    let list = timeout(PATIENCE, api.list_metadata(&page)).await.ok()?.ok()?;
    Some(list.items.into_iter().filter_map(|item| item.metadata.name).collect())
}

fn contexts(choice: &ClusterChoice) -> Vec<String> {
    let kubeconfig = choice.kubeconfig.as_ref().map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    let contexts = kubeconfig.map(|kubeconfig| kubeconfig.contexts).unwrap_or_default();
    contexts.into_iter().map(|context| context.name).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    fn line(words: &[&str]) -> Line {
        let mut command = Arguments::command();
        command.build();
        parse(&command, &words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    fn words(words: &[&str]) -> Vec<String> {
        let Place::Words(found) = line(words).place else {
            panic!("{words:?} are completed by other things")
        };
        found.into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn each_place_has_what_can_stand_there() {
        assert_eq!(words(&[]), words(&[""]));
        assert_eq!(words(&["re"]), ["render", "diff", "explain", "restart", "completion"]);
        assert!(words(&["restart", "web", "-"]).contains(&"--wait".to_owned()));
        assert_eq!(words(&["render", "-o", ""]), ["yaml", "json"]);
        assert_eq!(words(&["completion", ""])[..2], ["bash", "elvish"]);
        for (words, place) in [
            (&["explain", ""][..], Place::Apps),
            (&["explain", "web", ""], Place::Anything),
            (&["restart", "--wait", ""], Place::Apps),
            (&["restart", "--timeout", ""], Place::Anything),
            (&["diff", "-f", ""], Place::Files),
            (&["explain", "-n", "te"], Place::Namespaces),
            (&["explain", "web", "--context", ""], Place::Contexts),
        ] {
            assert_eq!(line(words).place, place, "{words:?}");
        }
    }

    #[test]
    fn a_value_may_stand_in_the_word_of_its_flag() {
        let line = line(&["explain", "--output=y"]);
        assert_eq!(line.head, "--output=");
        assert!(matches!(line.place, Place::Words(words) if words.len() == 2));
    }

    #[test]
    fn the_cluster_is_the_one_that_the_line_names() {
        for words in [
            &["explain", "-n", "team", "--context", "far", "--kubeconfig", "file", ""][..],
            &["explain", "-nteam", "--context=far", "--kubeconfig=file", ""],
            &["explain", "--namespace=team", "--context=far", "web", "--kubeconfig=file", ""],
        ] {
            let ClusterChoice { namespace, context, kubeconfig, .. } = line(words).choice;
            let chosen = (namespace.as_deref(), context.as_deref(), kubeconfig.as_deref());
            assert_eq!(chosen, (Some("team"), Some("far"), Some(Path::new("file"))), "{words:?}");
        }
    }
}
