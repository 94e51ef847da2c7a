//! The AWS Lambda of Stayput: S3 events in, verdicts and restored objects out.
//!
//! It needs `STAYPUT_CONFIG` (the settings document), `STAYPUT_CONFIG_URI` (where it lies in S3), or `STAYPUT_ROOTS` and, to restore,
//! `STAYPUT_MODE=restore`. Without a mode it observes. `STAYPUT_LOG=debug` shows a line for every verdict, those too that leave an object.
//! `STAYPUT_METRICS_NAMESPACE` is where CloudWatch has the metrics; without it, under `Stayput`.

mod answer;
mod call;
mod log;
mod metrics;
mod start;
mod tell;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde_json::value::RawValue;
use tokio::sync::Mutex;

use crate::call::Function;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Err(e) = log::start() {
        println!("{}", serde_json::json!({"level": "ERROR", "message": e}));
        return ExitCode::FAILURE;
    }
    let ready = match start::ready().await {
        Ok(ready) => ready,
        Err(e) => {
            tracing::error!(target: log::TARGET, "Stayput can't start: {e}");
            return ExitCode::FAILURE;
        }
    };
    let deadline = ready.deadline();
    let function = Arc::new(Mutex::new({
        let namespace = ready.namespace.clone();
        Function::new(move || ready.watch()).measuring_in(namespace)
    }));
    let run = lambda_runtime::run(service_fn(move |event: LambdaEvent<Box<RawValue>>| {
        let (function, deadline) = (Arc::clone(&function), deadline.clone());
        async move {
            let mut function = function.lock().await;
            let left = event.context.deadline().duration_since(SystemTime::now());
            deadline.in_at_most(left.unwrap_or_default());
            function
                .call(event.payload.get().as_bytes(), &event.context.request_id)
                .await
                .map_err(Diagnostic::from)
        }
    }));
    match run.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            tracing::error!(target: log::TARGET, "the runtime ended: {e}");
            ExitCode::FAILURE
        }
    }
}
