#!/usr/bin/env python3
"""Writes the list of all parts of the packages, as SPDX 2.3: sbom.py OUT

OUT is a folder with packages. Writes troika-VERSION.spdx.json: each package with its SHA-256, the
parts that travel along with them, and the texts of their licences.
"""

import datetime
import hashlib
import json
import pathlib
import re
import shutil
import sys
import tempfile

import bundle


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def parts_of(archive):
    """(name, version, text of the licence) of each part, as the archive has them."""
    with tempfile.TemporaryDirectory(prefix="troika-sbom-") as folder:
        shutil.unpack_archive(archive, folder)
        for path in sorted(pathlib.Path(folder).glob("*/licences/*.txt")):
            first, text = path.read_text(encoding="utf-8").split("\n\n", 1)
            yield (*first.rsplit(" ", 1), text)


def package(name, version, licence):
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION"}


def describe(out):
    """The document of a folder of packages."""
    version, licence = bundle.project("version"), bundle.project("license")
    created = datetime.datetime.fromtimestamp(bundle.source_time(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    packages, relations, texts = [package("troika", version, licence)], [], [
        {"licenseId": licence, "extractedText": "The owner has not named a licence yet.", "name": "unreleased"}]
    # Parts of both archives count once.
    archives = sorted(path for path in out.iterdir() if path.suffix in (".xz", ".zip"))
    for name, part_version, text in sorted({part for archive in archives for part in parts_of(archive)}):
        reference = f"LicenseRef-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}"
        texts.append({"licenseId": reference, "extractedText": text, "name": name})
        packages.append(package(name, part_version, reference))
        relations.append({"spdxElementId": identifier("troika"), "relationshipType": "CONTAINS",
                          "relatedSpdxElement": identifier(name)})
    for file in sorted(path for path in out.iterdir() if path.suffix in (".xz", ".zip", ".whl", ".deb")):
        entry = package(file.name, version, licence)
        entry["packageFileName"] = file.name
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(file.read_bytes()).hexdigest()}]
        packages.append(entry)
        relations.append({"spdxElementId": entry["SPDXID"], "relationshipType": "GENERATED_FROM",
                          "relatedSpdxElement": identifier("troika")})
    relations.append({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                      "relatedSpdxElement": identifier("troika")})
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"troika-{version}",
            "documentNamespace": f"urn:troika:{version}", "creationInfo": {"created": created, "creators": ["Tool: sbom.py"]},
            "packages": packages, "relationships": relations, "hasExtractedLicensingInfos": texts}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: sbom.py OUT")
    out = pathlib.Path(sys.argv[1]).resolve()
    file = out / f"troika-{bundle.project('version')}.spdx.json"
    file.write_text(json.dumps(describe(out), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(file)


if __name__ == "__main__":
    main()
