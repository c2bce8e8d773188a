import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../setup/child-process.mjs'
import { PROGRAMS } from './list.mjs'

/** @typedef {import('./list.mjs').Client} Client */
/** @typedef {import('./list.mjs').Outcome} Outcome */
/**
 * What runs of clients found, by the name of the client.
 * @typedef {Readonly<Record<string, readonly Outcome[]>>} Results
 */

const DOCS = join(root, 'docs', 'clients.md')
const START = '<!-- written by `npm run clients` -->'
const END = '<!-- end of what `npm run clients` writes -->'

const CLIENTS_HEAD = ['Client', 'Version', 'Calls that did what is expected']
const FAILURES_HEAD = ['Client', 'Call', 'Expected', 'Happened']
const LEFT_OUT_HEAD = ['Client', 'Calls', 'Why']

/** Returns the tables that the docs have. */
export async function readTables() {
  const [, after = ''] = (await readFile(DOCS, 'utf8')).split(START)
  return (after.split(END)[0] ?? '').trim()
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
 * Returns the tables of all clients, and of what failed or was left out. The rows of clients that
 * did not run stay as they are.
 * @param {readonly Client[]} clients
 * @param {Results} results
 * @param {string} present the tables that the docs have
 */
export function tablesOf(clients, results, present) {
  const rowsOf = (
    /** @type {readonly string[]} */ head,
    /** @type {(client: Client, outcomes: readonly Outcome[]) => string[][]} */ found,
  ) => {
    const before = readRows(present, head)
    return clients.flatMap((client) => {
      const outcomes = client.unavailable === undefined ? results[client.name] : []
      if (outcomes) return found(client, outcomes)
      return before.filter(([name]) => name === client.name)
    })
  }
  const failures = rowsOf(FAILURES_HEAD, failuresOf)
  const leftOut = rowsOf(LEFT_OUT_HEAD, reasonsOf)
  return [
    table(CLIENTS_HEAD, rowsOf(CLIENTS_HEAD, summaryOf)),
    failures.length > 0 && `What did not:\n\n${table(FAILURES_HEAD, failures)}`,
    leftOut.length > 0 && `What cannot pass, and why:\n\n${table(LEFT_OUT_HEAD, leftOut)}`,
  ]
    .filter((part) => part !== false)
    .join('\n\n')
}

/**
 * Returns the number of calls of a client, and its version.
 * @param {string} name
 * @param {string} tables the tables that the docs have
 */
export function readRow(name, tables) {
  const [, version, summary = ''] =
    readRows(tables, CLIENTS_HEAD).find(([client]) => client === name) ?? []
  const [, calls] = /^\d+ of (\d+)$/.exec(summary) ?? []
  return { version, calls: Number(calls) }
}

/**
 * @param {Client} client
 * @param {readonly Outcome[]} outcomes
 */
function failuresOf({ name, leftOut = {} }, outcomes) {
  return outcomes
    .filter((outcome) => !outcome.passed && !(outcome.name in leftOut))
    .map((outcome) => [name, code(outcome.name), json(outcome.expected), json(outcome.happened)])
}

/**
 * @param {Client} client
 * @param {readonly Outcome[]} outcomes
 */
function summaryOf({ name, version, unavailable }, outcomes) {
  if (unavailable !== undefined) return [[name, version, `not run: ${unavailable}`]]
  const passed = outcomes.filter((outcome) => outcome.passed).length
  return [[name, version, `${passed} of ${outcomes.length}`]]
}

/**
 * @param {Client} client
 * @param {readonly Outcome[]} outcomes
 */
function reasonsOf({ name, leftOut = {} }, outcomes) {
  /** @type {Map<string, string[]>} */
  const names = new Map()
  for (const { name: call } of outcomes) {
    const reason = leftOut[call]
    if (reason !== undefined) names.set(reason, [...(names.get(reason) ?? []), code(call)])
  }
  return [...names].map(([reason, calls]) => [name, calls.join(', '), reason])
}

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map(row).join('\n')
}

/** @param {readonly string[]} cells */
function row(cells) {
  return `| ${cells.join(' | ')} |`
}

/**
 * Returns the rows of the table with a head; none without such a table.
 * @param {string} tables
 * @param {readonly string[]} head
 */
function readRows(tables, head) {
  const [, after = ''] = tables.split(`${row(head)}\n`)
  const lines = (after.split('\n\n')[0] ?? '').split('\n').slice(1)
  return lines.map((line) => line.slice('| '.length, -' |'.length).split(' | '))
}

/** @param {string} text */
function code(text) {
  return `\`${text}\``
}

/** @param {unknown} value */
function json(value) {
  return code(JSON.stringify(value).replaceAll('|', '¦').replaceAll('`', '´'))
}
