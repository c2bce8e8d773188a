import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root, run } from '../setup/child-process.mjs'
import { Failure, printLine } from '../setup/progress.mjs'
import { PROGRAMS } from './list.mjs'
import { PASSWORD, startClientServer } from './server.mjs'

/** @typedef {import('./list.mjs').Outcome} Outcome */

/** What is downloaded and compiled. */
const BUILT = join(root, 'dist', 'clients')

/** Ada administers the server. */
const ACCOUNTS = ['ada', 'bob', 'carol'].map((username) => ({
  username,
  email: `${username}@example.org`,
}))

/** More than any client takes. */
const TIME_LIMIT_MS = 300_000

/** The longest text of an outcome. */
const MAX_TEXT = 200

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** The crate optimises for the speed of the program, which takes Cargo four times as long. */
const QUICKLY_BUILT = { CARGO_PROFILE_RELEASE_OPT_LEVEL: '0', CARGO_PROFILE_RELEASE_LTO: 'off' }

/** @param {string} program */
export function runNodeProgram(program) {
  return withServer((env) => makeCalls(process.execPath, [join(PROGRAMS, program)], env))
}

/**
 * Installs packages without their scripts, and runs a program that starts them.
 * @param {string} variable tells the program the folder of the packages
 * @param {string} program
 * @param {readonly string[]} packages
 */
export async function runNpmProgram(variable, program, packages) {
  const folder = join(BUILT, variable.toLowerCase())
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save']
  await need('npm', ['install', '--prefix', folder, ...flags, ...packages])
  return withServer((env) =>
    makeCalls(process.execPath, [join(PROGRAMS, program)], { ...env, [variable]: folder }),
  )
}

/** @param {string} folder */
export async function runGoProgram(folder) {
  const binary = join(BUILT, folder)
  await need('go', ['build', '-o', binary, '.'], { cwd: join(PROGRAMS, folder) })
  return withServer((env) => makeCalls(binary, [], env))
}

/** @param {string} program */
export async function runPythonProgram(program) {
  const environment = join(BUILT, 'python')
  const python = join(environment, 'bin', 'python')
  await need('python3', ['-m', 'venv', environment])
  const requirements = join(PROGRAMS, 'python', 'requirements.txt')
  await need(python, ['-m', 'pip', 'install', '--quiet', '-r', requirements])
  return withServer((env) => makeCalls(python, [join(PROGRAMS, program)], env))
}

/**
 * Compiles the command line of Forgejo, for the first time in some minutes, and runs a program that
 * calls it.
 * @param {string} crate
 * @param {string} version
 * @param {string} program
 */
export async function runFj(crate, version, program) {
  const folder = join(BUILT, 'rust')
  await need('cargo', ['install', `${crate}@${version}`, '--locked', '--root', folder], {
    env: QUICKLY_BUILT,
  })
  return withServer((env) =>
    makeCalls(process.execPath, [join(PROGRAMS, program)], {
      ...env,
      FJ: join(folder, 'bin', 'fj'),
    }),
  )
}

/**
 * Runs the tests of the Go SDK. Each test has a process of its own, because a test that fails often
 * ends by a panic. All of them use one server in their order, as they do at Gitea.
 * @param {string} module
 * @param {string} version
 */
export async function runGoSdkTests(module, version) {
  const downloaded = await need('go', ['mod', 'download', '-json', `${module}@${version}`])
  const source = JSON.parse(downloaded).Dir
  const binary = join(BUILT, 'go', 'sdk-tests')
  await need('go', ['test', '-c', '-o', binary, './tests'], { cwd: source })
  // The tests expect the names that Gitea's own pipeline uses, and commits without signatures.
  const accounts = [{ username: 'test01', email: 'test01@gitea.io' }]
  const server = await startClientServer(accounts, {
    tokenName: 'gitea-admin',
    options: ['--signing', 'off'],
  })
  try {
    const env = {
      ...process.env,
      GITEA_SDK_TEST_URL: server.url,
      GITEA_SDK_TEST_USERNAME: 'test01',
      GITEA_SDK_TEST_PASSWORD: PASSWORD,
    }
    const cwd = join(source, 'tests')
    const { output: list } = await run(binary, ['-test.list', '.'], { cwd, env })
    const tests = list.split('\n').filter((line) => /^Test\w+$/.test(line))
    const outcomes = []
    for (const name of tests) {
      const { code, output } = await run(binary, ['-test.run', `^${name}$`], { cwd, env })
      const happened = code === 0 ? 'passes' : failureOf(output, server.url)
      outcomes.push({ name, expected: 'passes', happened, passed: code === 0 })
    }
    return outcomes
  } finally {
    await server.stop()
  }
}

/**
 * Returns the first failure in the output of a test.
 * @param {string} output
 * @param {string} url
 */
function failureOf(output, url) {
  const lines = output.split('\n').map((line) => line.trim())
  const error = lines.findIndex((line) => line.startsWith('Error:'))
  const text = lines
    .slice(error, error + 4)
    .filter((line) => line !== '')
    .join(' ')
    .replaceAll(/\[0x[^\]]*\]/g, '[…]')
    .replaceAll(/\s+/g, ' ')
  return `fails: ${shorten(text.replaceAll(url, ''))}`
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Record<string, string>} env
 * @returns {Promise<Outcome[]>}
 */
async function makeCalls(command, args, env) {
  /** @type {{ stdout: string, stderr: string, failed?: boolean }} */
  const { stdout, stderr, failed } = await promisify(execFile)(command, args, {
    env: { ...process.env, ...env },
    timeout: TIME_LIMIT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  }).catch((error) => ({ ...error, failed: true }))
  if (failed) throw new Failure(`\`${command}\` failed.`, stdout + stderr)
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .map((outcome) => ({ ...outcome, happened: shortened(outcome.happened) }))
}

/** @param {unknown} value */
function shortened(value) {
  return typeof value === 'string' ? shorten(value) : value
}

/** @param {string} text */
function shorten(text) {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}

/**
 * @param {(env: Record<string, string>) => Promise<Outcome[]>} work
 */
async function withServer(work) {
  const { url, tokens, stop } = await startClientServer(ACCOUNTS)
  try {
    const setting = { url, tokens, password: PASSWORD }
    return await work({ BRANCHLINE_CLIENT: JSON.stringify(setting) })
  } finally {
    await stop()
  }
}

/**
 * Runs a command that downloads or compiles, and returns its output.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string> }} [options]
 */
export async function need(command, args, options = {}) {
  await mkdir(BUILT, { recursive: true })
  printLine('..', `${command} ${args.slice(0, 3).join(' ')}`)
  const { code, output } = await run(command, args, options)
  if (code !== 0) throw new Failure(`\`${command} ${args[0]}\` failed.`, output)
  return output
}
