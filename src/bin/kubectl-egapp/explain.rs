//! `kubectl egapp explain`: where everything about an app comes from, and what stands in its way. I/O: reads.

use std::process::ExitCode;

use serde_json::json;

use crate::args::Explain;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::facts::{Explanation, explain, hindrances};
use crate::output;

pub(crate) async fn run(arguments: &Explain) -> Result<ExitCode, Error> {
    let cluster = Cluster::find(&arguments.cluster).await?;
    let app = cluster.app(&arguments.name).await?;
    let platform = cluster.platform(&arguments.platform).await?;
    let observed = cluster.observed(&app).await?;
    let decider = cluster.decider(&app, &observed).await?;
    let mut explanation = explain(&app, platform.as_ref(), &observed);
    explanation.in_the_way.extend(decider.as_ref().into_iter().flat_map(hindrances));
    if let Some(format) = arguments.output {
        output::objects(&[json!(explanation)], format);
    } else {
        let lines = lines(&explanation);
        let width = lines.iter().map(|(title, _)| title.chars().count()).max().unwrap_or(0) + 2;
        output::text(&lines, width);
    }
    Ok(ExitCode::SUCCESS)
}

/// Two columns: topics, and what there is to say of them.
fn lines(explanation: &Explanation) -> Vec<(String, String)> {
    let Explanation { namespace, name, ready, facts, in_the_way } = explanation;
    let mut lines =
        vec![("EGApp".to_owned(), format!("{namespace}/{name}")), ("ready".to_owned(), ready.clone())];
    for fact in facts {
        lines.push((fact.topic.to_owned(), fact.value.clone()));
        lines.extend(fact.because.iter().map(|line| (String::new(), format!("- {line}"))));
    }
    let none = ["nothing".to_owned()];
    let obstacles = if in_the_way.is_empty() { &none[..] } else { &in_the_way[..] };
    for (position, line) in obstacles.iter().enumerate() {
        let title = if position == 0 { "in the way" } else { "" };
        lines.push((title.to_owned(), line.clone()));
    }
    lines
}
