//! `node STATE SCRIPT`: a host with one module, `box`, of one service, `main`, that runs the script with `sh`.

use std::{ffi::OsString, path::PathBuf, process::ExitCode, time::Duration};

use mesh_node::{
    host::{DesiredModule, Host, HostConfig, Program, Restart, ServiceSpec},
    shim::StopSignal,
};

pub(crate) fn main(arguments: &[OsString]) -> ExitCode {
    let [state, script] = arguments else { return ExitCode::from(2) };
    let runtime = tokio::runtime::Runtime::new().expect("a test machine has a runtime");
    runtime.block_on(async {
        let config = HostConfig {
            node: "attic".into(),
            state: PathBuf::from(state),
            program: Program {
                path: std::env::current_exe().expect("a program has a path"),
                arguments: vec!["shim".into()],
            },
            timezone: None,
        };
        let host = Host::start(config).await.expect("the test gives each node its own folder");
        host.set("box", Some(module(script.to_str().expect("tests write UTF-8"))));
        std::future::pending::<()>().await;
    });
    ExitCode::SUCCESS
}

fn module(script: &str) -> DesiredModule {
    let service = ServiceSpec {
        name: "main".into(),
        prepare: Vec::new(),
        exec: ["sh", "-c", script].map(String::from).to_vec(),
        env: Vec::new(),
        user: None,
        health: None,
        restart: Restart::Always,
        stop_signal: StopSignal::Term,
        stop_deadline: Duration::from_secs(5),
        digest: "1".into(),
        reload_digest: String::new(),
        ports: Vec::new(),
    };
    DesiredModule { module: "box".into(), dirs: Vec::new(), services: vec![service] }
}
