import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { lastLines, run } from './child-process.mjs'
import { Failure } from './progress.mjs'

/**
 * A Debian package, and how to find out whether its content is installed.
 * @typedef {{ name: string, command?: string, header?: string, pythonModule?: string }}
 *   SystemPackage
 */

/** @type {readonly SystemPackage[]} */
export const runPackages = [{ name: 'git', command: 'git' }]

/**
 * Only Debian's own Python, which need not be the first in the path, finds modules that apt-get
 * installs.
 */
const DEBIAN_PYTHON = '/usr/bin/python3'

/**
 * Needed only to compile an addon. nodegit links Kerberos and reads the headers of OpenSSL.
 * @type {readonly SystemPackage[]}
 */
export const compilePackages = [
  { name: 'g++', command: 'g++' },
  { name: 'make', command: 'make' },
  { name: 'python3', command: 'python3' },
  { name: 'libkrb5-dev', command: 'krb5-config' },
  { name: 'libssl-dev', header: '/usr/include/openssl/ssl.h' },
]

/**
 * Programs that tests use: the sandbox of hooks, a browser for web pages, gRPC-Web and CORS, the same
 * browser without windows, which needs half the CPU time, curl for REST, the proxy of `deploy/`, programs
 * that create keys and signatures, PostgreSQL, Python for gRPC and generated clients. A test without its
 * program is skipped.
 * @type {readonly SystemPackage[]}
 */
export const testPackages = [
  { name: 'bubblewrap', command: 'bwrap' },
  { name: 'chromium', command: 'chromium' },
  { name: 'chromium-headless-shell', command: 'chromium-headless-shell' },
  { name: 'curl', command: 'curl' },
  { name: 'gnupg', command: 'gpg' },
  { name: 'haproxy', command: 'haproxy' },
  { name: 'openssh-client', command: 'ssh-keygen' },
  { name: 'postgresql', command: 'pg_ctlcluster' },
  { name: 'python3-grpcio', pythonModule: 'grpc' },
  { name: 'python3-venv', pythonModule: 'ensurepip' },
]

/**
 * Returns the command that installs packages on Debian.
 * @param {readonly string[]} names
 */
export function aptCommand(names) {
  return `sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names.join(' ')}`
}

/**
 * Decides what to do about missing packages. Without apt-get, a missing header proves nothing,
 * since other systems store headers elsewhere. Missing test packages stop nothing: the tests that
 * need them say so.
 * @param {{ required: readonly SystemPackage[], optional: readonly SystemPackage[], hasApt:
 *   boolean, isRoot: boolean }} missing
 * @returns {{ install: string[], installOptional: string[], advice?: string } | { stop: string }}
 *   `advice` is a command to print
 */
export function planPackages({ required, optional, hasApt, isRoot }) {
  const names = required.filter((p) => hasApt || p.header === undefined).map((p) => p.name)
  const optionalNames = optional.map((p) => p.name)
  if (hasApt && isRoot) return { install: names, installOptional: optionalNames }
  if (hasApt && names.length > 0) {
    return {
      stop: `System packages are missing. Install them with the command below, then try again.\n\n  ${aptCommand([...names, ...optionalNames])}\n`,
    }
  }
  if (names.length > 0) {
    return {
      stop: `${names.join(', ')} missing, named as Debian names them. Install them with the package manager of this system, then try again.`,
    }
  }
  const advice = hasApt && optionalNames.length > 0 ? { advice: aptCommand(optionalNames) } : {}
  return { install: [], installOptional: [], ...advice }
}

/**
 * Installs the missing packages. Throws a `Failure` if a required package cannot be installed, and
 * reports an optional one.
 * @param {{ required: readonly SystemPackage[], optional: readonly SystemPackage[] }} packages
 * @param {(what: string) => void} say
 * @returns {Promise<string>} the result in a few words
 */
export async function ensureSystemPackages({ required, optional }, say) {
  const missing = { required: await missingOf(required), optional: await missingOf(optional) }
  if (missing.required.length + missing.optional.length === 0) return 'nothing is missing'
  const plan = planPackages({
    ...missing,
    hasApt: isCommand('apt-get'),
    isRoot: process.getuid?.() === 0,
  })
  if ('stop' in plan) throw new Failure(plan.stop)
  const wanted = [...plan.install, ...plan.installOptional]
  if (wanted.length === 0) {
    const names = missing.optional.map((p) => p.name).join(', ')
    if (plan.advice !== undefined)
      say(`tests that need ${names} are skipped; this installs them:\n\n  ${plan.advice}\n`)
    return `not here: ${names}`
  }

  say('apt-get update')
  // A failure is not fatal: the lists of an earlier update may be sufficient.
  const update = await apt(['update'])
  if (plan.install.length > 0) {
    say(`apt-get install ${plan.install.join(' ')}`)
    const { code, output } = await install(plan.install)
    if (code !== 0) {
      const log = lastLines(`${update.code === 0 ? '' : update.output}\n${output}`)
      throw new Failure(
        `apt-get could not install ${plan.install.join(', ')}: read its output above, then try again.`,
        log,
      )
    }
  }
  await installEach(plan.installOptional, say)
  const absent = (await missingOf([...missing.required, ...missing.optional])).map((p) => p.name)
  const installed = wanted.filter((name) => !absent.includes(name))
  const result = [`installed ${installed.length > 0 ? installed.join(', ') : 'nothing'}`]
  if (absent.length > 0)
    result.push(`still not here: ${absent.join(', ')}; what needs them will say so`)
  return result.join('; ')
}

/**
 * One at a time, so that a package that this release of Debian lacks does not prevent the others.
 */
async function installEach(
  /** @type {readonly string[]} */ names,
  /** @type {(what: string) => void} */ say,
) {
  for (const name of names) {
    say(`apt-get install ${name}`)
    const { code, output } = await install([name])
    if (code !== 0) say(`apt-get could not install ${name}:\n${lastLines(output)}`)
  }
}

function install(/** @type {readonly string[]} */ names) {
  return apt(['install', '-y', '--no-install-recommends', ...names])
}

function apt(/** @type {readonly string[]} */ args) {
  // A new machine often updates itself at this time. Wait for the lock of dpkg.
  return run('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...args], {
    env: { DEBIAN_FRONTEND: 'noninteractive' },
  })
}

async function missingOf(/** @type {readonly SystemPackage[]} */ packages) {
  const present = await Promise.all(packages.map(isPresent))
  return packages.filter((_, i) => !present[i])
}

async function isPresent(/** @type {SystemPackage} */ { command, header, pythonModule }) {
  if (command !== undefined) return isCommand(command)
  if (header !== undefined) return existsSync(header)
  return (await run(DEBIAN_PYTHON, ['-c', `import ${pythonModule}`])).code === 0
}

function isCommand(/** @type {string} */ name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
