import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../setup/child-process.mjs'
import { PROGRAMS } from './list.mjs'

/** @typedef {import('./list.mjs').Client} Client */
/** @typedef {import('./list.mjs').Outcome} Outcome */
/**
 * What the last run of a client found.
 * @typedef {{ version: string, outcomes: readonly Outcome[] }} Result
 */

const DOCS = join(root, 'docs', 'clients.md')
const RESULTS = join(PROGRAMS, 'results.json')
const START = '<!-- written by `npm run clients` -->'
const END = '<!-- end of what `npm run clients` writes -->'

/** @returns {Promise<Record<string, Result>>} by the name of the client */
export async function readResults() {
  return JSON.parse(await readFile(RESULTS, 'utf8').catch(() => '{}'))
}

/** @param {Record<string, Result>} results */
export async function writeResults(results) {
  await writeFile(RESULTS, `${JSON.stringify(results, null, 2)}\n`)
}

/** Returns the tables that the docs have. */
export async function readTables() {
  const [, after = ''] = (await readFile(DOCS, 'utf8')).split(START)
  return after.split(END)[0]?.trim()
}

/** @param {string} tables */
export async function writeTables(tables) {
  const text = await readFile(DOCS, 'utf8')
  const [before] = text.split(START)
  const [, after] = text.split(END)
  await writeFile(DOCS, `${before}${START}\n\n${tables}\n\n${END}${after}`)
}

/**
 * Returns the names of the calls of a program, in Go, JavaScript or Python.
 * @param {string} program
 */
export async function callsOf(program) {
  const text = await readFile(join(PROGRAMS, program), 'utf8')
  return [...text.matchAll(/\bcall\(\s*(['"])(.+?)\1/gi)].map(([, , name]) => name)
}

/**
 * Returns the tables of all clients, and of what failed or was left out.
 * @param {readonly Client[]} clients
 * @param {Record<string, Result>} results
 */
export function tablesOf(clients, results) {
  const rows = clients.map((client) => [client.name, client.version, summaryOf(client, results)])
  const failures = clients.flatMap((client) =>
    judged(client, results)
      .filter(({ passed, reason }) => !passed && reason === undefined)
      .map(({ name, expected, happened }) => [
        client.name,
        code(name),
        json(expected),
        json(happened),
      ]),
  )
  const leftOut = clients.flatMap((client) => reasonsOf(client, results))
  return [
    table(['Client', 'Version', 'Calls that did what is expected'], rows),
    failures.length > 0 &&
      `What did not:\n\n${table(['Client', 'Call', 'Expected', 'Happened'], failures)}`,
    leftOut.length > 0 && `What cannot apply:\n\n${table(['Client', 'Calls', 'Why'], leftOut)}`,
  ]
    .filter((part) => part !== false)
    .join('\n\n')
}

/**
 * @param {Client} client
 * @param {Record<string, Result>} results
 */
function judged(client, results) {
  const outcomes = results[client.name]?.outcomes ?? []
  return outcomes.map((outcome) => ({ ...outcome, reason: client.leftOut?.[outcome.name] }))
}

/**
 * @param {Client} client
 * @param {Record<string, Result>} results
 */
function summaryOf(client, results) {
  if (client.unavailable !== undefined) return `not run: ${client.unavailable}`
  const applicable = judged(client, results).filter(({ reason }) => reason === undefined)
  const passed = applicable.filter((outcome) => outcome.passed).length
  const left = Object.keys(client.leftOut ?? {}).length
  return `${passed} of ${applicable.length}${left > 0 ? `, ${left} cannot apply` : ''}`
}

/**
 * @param {Client} client
 * @param {Record<string, Result>} results
 */
function reasonsOf(client, results) {
  /** @type {Map<string, string[]>} */
  const names = new Map()
  for (const { name, reason } of judged(client, results)) {
    if (reason !== undefined) names.set(reason, [...(names.get(reason) ?? []), code(name)])
  }
  return [...names].map(([reason, calls]) => [client.name, calls.join(', '), reason])
}

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

/** @param {string} text */
function code(text) {
  return `\`${text}\``
}

/** @param {unknown} value */
function json(value) {
  return code(JSON.stringify(value).replaceAll('|', '¦').replaceAll('`', '´'))
}
