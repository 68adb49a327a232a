//! Finds the library: the folder TROIKA_LIB_DIR, then pkg-config, then the linker's own folders.

use std::path::Path;
use std::process::{exit, Command};
use std::{env, io};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for variable in ["TROIKA_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Err(reason) = find() {
        eprintln!("error: {reason}");
        exit(1);
    }
}

fn find() -> Result<(), String> {
    if let Ok(folder) = env::var("TROIKA_LIB_DIR") {
        let names =
            ["libtroika.so", "libtroika.dylib", "troika.lib", "libtroika.dll.a", "libtroika.a"];
        if !names.iter().any(|name| Path::new(&folder).join(name).exists()) {
            return Err(format!("TROIKA_LIB_DIR is '{folder}', which has no libtroika"));
        }
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=troika");
        return Ok(());
    }
    let pkg_config = match ask_pkg_config() {
        Ok(flags) => {
            pass_on(&flags);
            return Ok(());
        }
        Err(reason) => reason,
    };
    if !linker_finds()? {
        let tried = format!("TROIKA_LIB_DIR is not set, {pkg_config}, the linker has no -ltroika");
        return Err(format!("libtroika is not found: {tried}"));
    }
    println!("cargo:rustc-link-lib=troika");
    Ok(())
}

/// Returns the flags of the linker, or why there are none.
fn ask_pkg_config() -> Result<String, String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    match Command::new(&program).args(["--libs", "troika"]).output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(_) => Err(format!("{program} does not know troika")),
        Err(reason) => Err(format!("{program} cannot be run ({reason})")),
    }
}

fn pass_on(flags: &str) {
    for flag in flags.split_whitespace() {
        match flag.split_at(flag.len().min(2)) {
            ("-L", folder) => println!("cargo:rustc-link-search=native={folder}"),
            ("-l", library) => println!("cargo:rustc-link-lib={library}"),
            _ => println!("cargo:rustc-link-arg={flag}"),
        }
    }
}

/// Links an empty library with -ltroika, because the linker's own message is long. Says yes if it
/// cannot ask: without `cc`, or for another machine.
fn linker_finds() -> Result<bool, String> {
    let variable = |name| env::var(name).map_err(|_| format!("cargo has not set {name}"));
    if variable("TARGET")? != variable("HOST")? {
        return Ok(true);
    }
    let probe = Path::new(&variable("OUT_DIR")?).join("probe");
    let linked = Command::new("cc").args(["-shared", "-o"]).arg(probe).arg("-ltroika").output();
    match linked {
        Ok(output) => Ok(output.status.success()),
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(reason) => Err(format!("cc cannot be run: {reason}")),
    }
}
