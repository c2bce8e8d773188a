import { join } from 'node:path'
import { root } from '../setup/child-process.mjs'
import {
  runFj,
  runGoProgram,
  runGoSdkTests,
  runNodeProgram,
  runNpmProgram,
  runPythonProgram,
} from './programs.mjs'

/** The programs that make the calls. */
export const PROGRAMS = join(root, 'test', 'clients', 'unmodified')

/**
 * A call, or a test of a client, and what happened.
 * @typedef {object} Outcome
 * @property {string} name
 * @property {unknown} expected
 * @property {unknown} happened
 * @property {boolean} passed
 */

/**
 * A client that we did not write.
 * @typedef {object} Client
 * @property {string} name
 * @property {string} version with its registry
 * @property {string} [program] file in `PROGRAMS` that has the names of the calls
 * @property {Readonly<Record<string, string>>} [leftOut] calls that cannot pass, with the reason
 * @property {string} [unavailable] why the client is not run
 * @property {(client: Client) => Promise<Outcome[]>} [run]
 */

const NO_ACTIONS = 'Branchline has no actions'
const NO_PACKAGES = 'Branchline has no packages'
const OTHER_TEXTS =
  "the test expects the length of Gitea's own texts of licences and .gitignore files"

/** @type {readonly Client[]} */
export const CLIENTS = [
  {
    name: 'gitea-js',
    version: '1.23.0 (npm)',
    program: 'js/forge-calls.mjs',
    run: () => runNodeProgram('js/gitea-js.mjs'),
  },
  {
    name: 'forgejo-js',
    version: '11.0.0 (npm)',
    program: 'js/forge-calls.mjs',
    run: () => runNodeProgram('js/forgejo-js.mjs'),
  },
  {
    name: 'Go SDK of Gitea, its own tests',
    version: 'code.gitea.io/sdk/gitea v0.25.1 (Go proxy)',
    run: () => runGoSdkTests('code.gitea.io/sdk/gitea', 'v0.25.1'),
    leftOut: {
      TestAdminCronTasks: 'tasks of the server have no names and are not run by hand',
      TestCreateOrgActionSecret: NO_ACTIONS,
      TestUpdateOrgActionVariable: NO_ACTIONS,
      TestOrgActionVariable: NO_ACTIONS,
      TestCreateRepoActionSecret: NO_ACTIONS,
      TestCreateRepoActionVariable: NO_ACTIONS,
      TestListRepoActionVariable: NO_ACTIONS,
      TestListPackages: NO_PACKAGES,
      TestGetPackage: NO_PACKAGES,
      TestDeletePackage: NO_PACKAGES,
      TestListPackageFiles: NO_PACKAGES,
      TestIssue:
        'the test expects issues with all labels of a filter; the API documents those with at least one',
      TestCreateRepoSha256: 'repositories have object ids of SHA-1 only, as libgit2 has',
      TestRepoMigrateAndLanguages: 'the test imports a repository from gitea.com',
      TestGetArchive: OTHER_TEXTS,
      TestGetArchiveReader: OTHER_TEXTS,
      TestListRepoCommits: OTHER_TEXTS,
      TestGetGlobalSettings:
        "the test expects time tracking, which Branchline has not, and the attachment limits of Gitea's own pipeline",
      TestMyUser:
        'the test expects the MD5 of the e-mail address in the address of the picture, which would tell the address',
    },
  },
  {
    name: "Woodpecker's driver for Gitea",
    version: 'github.com/woodpecker-ci/woodpecker v1.0.5 (Go proxy)',
    program: 'go/woodpecker/main.go',
    run: () => runGoProgram('go/woodpecker'),
  },
  {
    name: "drone/go-scm's driver for Gitea",
    version: 'github.com/drone/go-scm v1.38.4 (Go proxy)',
    program: 'go/go-scm/main.go',
    run: () => runGoProgram('go/go-scm'),
  },
  {
    name: 'py-gitea',
    version: '0.2.10 (PyPI)',
    program: 'python/py_gitea.py',
    run: () => runPythonProgram('python/py_gitea.py'),
    leftOut: {
      'Organization.is_member': 'the client takes the status 204 for a failure',
    },
  },
  {
    name: 'pyforgejo',
    version: '2.0.7 (PyPI)',
    program: 'python/pyforgejo_calls.py',
    run: () => runPythonProgram('python/pyforgejo_calls.py'),
    leftOut: {
      get_signing_key: 'the server signs with an SSH key, which `/signing-key.pub` has',
    },
  },
  {
    name: 'fj, with forgejo-api',
    version: 'forgejo-cli 0.7.0 (crates.io)',
    program: 'js/fj.mjs',
    run: () => runFj('forgejo-cli', '0.7.0', 'js/fj.mjs'),
  },
  {
    name: "semantic-release's plugin for Gitea",
    version: '@saithodev/semantic-release-gitea 2.1.0, semantic-release 24.2.9 (npm)',
    program: 'js/semantic-release.mjs',
    run: () =>
      runNpmProgram('SEMANTIC_RELEASE', 'js/semantic-release.mjs', [
        'semantic-release@24.2.9',
        '@saithodev/semantic-release-gitea@2.1.0',
      ]),
  },
  {
    name: 'Renovate',
    version: '39.264.0 (npm), the last one for Node 20',
    program: 'js/renovate.mjs',
    run: () => runNpmProgram('RENOVATE', 'js/renovate.mjs', ['renovate@39.264.0']),
  },
  {
    name: "Terraform's provider for Gitea",
    version: 'go-gitea/terraform-provider-gitea of 2026-07-28 (its repository)',
    unavailable: 'not by this command, since the Go proxy does not have it: see below',
  },
]
