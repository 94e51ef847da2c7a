//! What the tests ask a JobManager, over its REST API.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::Agent;

use crate::cluster::JAR;
use crate::lab::KEYS;
use crate::release::{JOB, Release};

/// How a restored job treats what it is restored from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Claim {
    /// It becomes the job's own, which will delete it.
    Claim,
    /// It is only read.
    NoClaim,
}

/// What a job says of its checkpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checkpoints {
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    /// How often the job's state was taken from a checkpoint or savepoint.
    pub(crate) restored: u64,
    /// Of the newest completed one: its id and the URI of its directory.
    pub(crate) newest: Option<(u64, String)>,
}

/// The JobManager.
pub(crate) struct Rest {
    url: String,
    agent: Agent,
    claim: &'static str,
}

/// What is waited for at most, on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

impl Rest {
    pub(crate) fn at(url: &str, release: &Release) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .build();
        Self {
            url: url.to_owned(),
            agent: config.into(),
            claim: if release.is_2() {
                "claimMode"
            } else {
                "restoreMode"
            },
        }
    }

    /// `Err`: it didn't answer, or not well.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/json");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = request.body(body).map_err(|e| format!("{method} {path}: {e}"))?;
        let mut answer = self
            .agent
            .run(request)
            .map_err(|e| format!("{method} {path}: {e}"))?;
        let text = answer
            .body_mut()
            .read_to_string()
            .map_err(|e| format!("{method} {path}: {e}"))?;
        if !answer.status().is_success() {
            return Err(format!("{method} {path}: {} {text}", answer.status()));
        }
        serde_json::from_str(&text).map_err(|e| format!("{method} {path}: {e}: {text}"))
    }

    fn must(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, path, body).unwrap_or_else(|e| panic!("{e}"))
    }

    fn get(&self, path: &str) -> Value {
        self.must("GET", path, &Value::Null)
    }

    /// Whether a job can be run.
    pub(crate) fn has_slots(&self) -> bool {
        let overview = self.ask("GET", "/overview", &Value::Null);
        overview.is_ok_and(|o| o["slots-available"].as_u64().is_some_and(|slots| slots > 0))
    }

    /// Runs the job with these settings; returns its id.
    pub(crate) fn run(
        &self,
        settings: &BTreeMap<&str, String>,
        arguments: &[String],
        from: Option<(&str, Claim)>,
    ) -> String {
        let mut asked = json!({
            "entryClass": JOB,
            "programArgsList": arguments,
            "parallelism": 1,
            "flinkConfiguration": settings,
        });
        if let Some((snapshot, claim)) = from {
            asked["savepointPath"] = json!(snapshot);
            asked[self.claim] = json!(match claim {
                Claim::Claim => "CLAIM",
                Claim::NoClaim => "NO_CLAIM",
            });
        }
        let answer = self.must("POST", &format!("/jars/{JAR}/run"), &asked);
        let job = answer["jobid"].as_str();
        job.unwrap_or_else(|| panic!("no job id: {answer}")).to_owned()
    }

    /// Cancels whatever runs, and waits until all slots are free.
    pub(crate) fn cancel_all(&self) {
        let jobs = self.get("/jobs");
        for job in jobs["jobs"].as_array().into_iter().flatten() {
            let (id, state) = (job["id"].as_str(), job["status"].as_str());
            if let (Some(id), Some("CREATED" | "RUNNING" | "RESTARTING" | "FAILING")) = (id, state) {
                self.cancel(id);
            }
        }
    }

    /// `RUNNING`, `FAILED`, …
    pub(crate) fn state(&self, job: &str) -> String {
        let answer = self.get(&format!("/jobs/{job}"));
        answer["state"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    /// Waits until the job is in this state.
    ///
    /// # Panics
    /// If it ends in another one, or takes too long.
    pub(crate) fn wait_for_state(&self, job: &str, wanted: &str) {
        self.wait(job, wanted, |state| state == wanted);
    }

    /// Waits for something that the job comes to while it lives.
    ///
    /// # Panics
    /// If it ends, or takes too long.
    pub(crate) fn wait_until(&self, job: &str, what: &str, enough: impl Fn() -> bool) {
        self.wait(job, what, |_| enough());
    }

    fn wait(&self, job: &str, what: &str, mut enough: impl FnMut(&str) -> bool) {
        let began = Instant::now();
        loop {
            let state = self.state(job);
            if enough(&state) {
                return;
            }
            let over = ["FAILED", "CANCELED", "FINISHED"].contains(&state.as_str());
            assert!(
                !over && began.elapsed() < PATIENCE,
                "waited for {what} of a job that is {state} after {:?}:\n{}",
                began.elapsed(),
                self.failures(job)
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Cancels, and waits until it is.
    pub(crate) fn cancel(&self, job: &str) {
        self.must("PATCH", &format!("/jobs/{job}?mode=cancel"), &Value::Null);
        self.wait_for_state(job, "CANCELED");
    }

    /// What the job says of its checkpoints.
    pub(crate) fn checkpoints(&self, job: &str) -> Checkpoints {
        let answer = self.get(&format!("/jobs/{job}/checkpoints"));
        let count = |name: &str| {
            answer["counts"][name]
                .as_u64()
                .unwrap_or_else(|| panic!("no count {name}: {answer}"))
        };
        let newest = &answer["latest"]["completed"];
        Checkpoints {
            completed: count("completed"),
            failed: count("failed"),
            restored: count("restored"),
            newest: newest["id"]
                .as_u64()
                .zip(newest["external_path"].as_str().map(str::to_owned)),
        }
    }

    /// Waits until so many more checkpoints have completed; returns the newest.
    pub(crate) fn wait_for_checkpoints(&self, job: &str, more: u64) -> (u64, String) {
        let before = self.checkpoints(job).completed;
        let mut newest = None;
        self.wait(job, "checkpoints", |_| {
            let now = self.checkpoints(job);
            newest = now.newest;
            now.completed >= before + more
        });
        newest.unwrap_or_else(|| panic!("{job} completed {more} checkpoints and names none"))
    }

    /// Takes a checkpoint, of a job that takes none by itself but one when it begins; returns its id and the URI of its directory.
    ///
    /// # Panics
    /// If it fails, or isn't the newest.
    pub(crate) fn checkpoint(&self, job: &str) -> (u64, String) {
        let asked = json!({"checkpointType": "CONFIGURED"});
        let answer = self.must("POST", &format!("/jobs/{job}/checkpoints"), &asked);
        let trigger = answer["request-id"].as_str().unwrap_or_default().to_owned();
        let mut id = None;
        // By its own id: another may complete in between, and the newest is another one then.
        self.wait(job, "the checkpoint", |_| {
            let answer = self.get(&format!("/jobs/{job}/checkpoints/{trigger}"));
            let cause = &answer["operation"]["failureCause"];
            assert!(cause.is_null(), "the checkpoint failed: {cause}");
            id = answer["operation"]["checkpointId"].as_u64();
            id.is_some()
        });
        let mut newest = None;
        // What the JobManager says of all checkpoints may be a little older.
        self.wait(job, "what is said of the checkpoint", |_| {
            newest = self.checkpoints(job).newest;
            newest.as_ref().map(|(n, _)| *n) >= id
        });
        newest
            .filter(|(n, _)| Some(*n) == id)
            .unwrap_or_else(|| panic!("{job} took another checkpoint after {id:?}"))
    }

    /// Which attempt of the job's tasks runs: 0 is the first. `None`: not all of them run, or not in the same attempt.
    pub(crate) fn running_attempt(&self, job: &str) -> Option<u64> {
        let answer = self.get(&format!("/jobs/{job}"));
        let mut attempts = BTreeSet::new();
        for vertex in answer["vertices"].as_array().into_iter().flatten() {
            let id = vertex["id"].as_str().unwrap_or_default();
            let answer = self.get(&format!("/jobs/{job}/vertices/{id}"));
            for task in answer["subtasks"].as_array().into_iter().flatten() {
                let runs = task["status"] == "RUNNING";
                attempts.insert(task["attempt"].as_u64().filter(|_| runs));
            }
        }
        if attempts.len() == 1 {
            attempts.pop_first()?
        } else {
            None
        }
    }

    /// Exceptions with their causes, as text; empty if there were none.
    pub(crate) fn failures(&self, job: &str) -> String {
        let answer = self.get(&format!("/jobs/{job}/exceptions?maxExceptions=20"));
        let entries = answer["exceptionHistory"]["entries"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let traces = entries.iter().filter_map(|e| e["stacktrace"].as_str());
        traces.collect::<Vec<_>>().join("\n")
    }

    /// How often the job was restarted.
    pub(crate) fn restarts(&self, job: &str) -> u64 {
        let answer = self.get(&format!("/jobs/{job}/metrics?get=numRestarts"));
        let value = answer[0]["value"].as_str().and_then(|n| n.parse().ok());
        value.unwrap_or_else(|| panic!("no numRestarts: {answer}"))
    }

    fn accumulators(&self, job: &str) -> BTreeMap<String, u64> {
        let answer = self.get(&format!("/jobs/{job}/accumulators"));
        let all = answer["user-task-accumulators"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let one = |a: &Value| {
            let value = a["value"].as_str()?.parse().ok()?;
            Some((a["name"].as_str()?.to_owned(), value))
        };
        all.iter().filter_map(one).collect()
    }

    /// Waits until the job has counted every key once or twice.
    pub(crate) fn wait_until_all_is_counted(&self, job: &str) {
        self.wait_until(job, "its accumulators", || {
            self.accumulators(job)
                .get("checked")
                .is_some_and(|n| *n > 2 * KEYS)
        });
    }

    /// Waits until the job has met every key in its state, as it had left it. It fails if one isn't.
    pub(crate) fn wait_until_all_is_remembered(&self, job: &str) {
        let mut last = BTreeMap::new();
        self.wait(job, "its accumulators", |_| {
            last = self.accumulators(job);
            last.get("remembered").is_some_and(|n| *n == KEYS)
        });
        println!("{job} went on with all {KEYS} keys: {last:?}");
    }

    /// Makes a savepoint below `directory`; returns its URI.
    pub(crate) fn savepoint(&self, job: &str, directory: &str, format: &str) -> String {
        let asked = json!({"target-directory": directory, "cancel-job": false, "formatType": format});
        let answer = self.must("POST", &format!("/jobs/{job}/savepoints"), &asked);
        let trigger = answer["request-id"].as_str().unwrap_or_default().to_owned();
        let mut made = None;
        self.wait(job, "a savepoint", |_| {
            let answer = self.get(&format!("/jobs/{job}/savepoints/{trigger}"));
            let cause = &answer["operation"]["failure-cause"];
            assert!(cause.is_null(), "the savepoint failed: {cause}");
            made = answer["operation"]["location"].as_str().map(str::to_owned);
            made.is_some()
        });
        made.unwrap_or_default()
    }
}
