import { execFile } from 'node:child_process'
import os from 'node:os'
import { promisify } from 'node:util'
import type { CaseResult, Group } from './measure.ts'

const run = promisify(execFile)

/** One group with its results. */
export interface Section {
  readonly group: Pick<Group, 'title' | 'inFlight'>
  readonly results: readonly CaseResult[]
}

/** Memory of the server at one time. */
export interface MemoryReading {
  readonly moment: string
  readonly residentBytes: number | undefined
}

/** Returns a description of the machine in one line. */
export function machineLine(): string {
  const cpus = os.cpus()
  const memoryGib = Math.round(os.totalmem() / 2 ** 30)
  return `${cpus[0]?.model.trim()}, ${cpus.length} cores, ${memoryGib} GiB, ${os.type()}, Node ${process.versions.node}`
}

/**
 * Returns which tree is measured, when, and where. The tree may have changes that no commit has.
 *
 * @param folder of the clone.
 */
export async function originLine(folder: string): Promise<string> {
  const git = async (...args: string[]) => (await run('git', ['-C', folder, ...args])).stdout.trim()
  const commit = await git('rev-parse', '--short=12', 'HEAD')
  const changes = await git('status', '--porcelain', '--', ...MEASURED)
  const tree = `commit ${commit}${changes === '' ? '' : ' with uncommitted changes'}`
  return `Measured on ${tree}, ${new Date().toISOString().slice(0, 10)}, ${machineLine()}.`
}

/** What the figures depend on. `--write` changes the page with the figures. */
const MEASURED = [':/src', ':/bench', ':/proto', ':/gen', ':/package-lock.json']

/** Returns a part of the report. Its heading is the name of the group. */
export function printPart(name: string, origin: string, figures: string): string {
  return `### ${name}\n\n${origin}\n\n${figures}\n`
}

/** Returns the results of a group as Markdown. */
export function printSection({ group, results }: Section): string {
  const head = [
    ...[group.title, 'requests/s', 'ratio', 'CPU ratio', 'of'],
    ...['CPU µs', 'p50 ms', 'p99 ms', 'MiB after'],
  ]
  const rows = results.map((result) => [
    result.name,
    result.requestsPerSecond.toFixed(0),
    ratioText(result.ratio),
    ratioText(result.cpuRatio),
    result.baseline ?? '',
    result.cpuMicrosPerRequest?.toFixed(0) ?? '',
    result.p50Ms.toFixed(2),
    result.p99Ms.toFixed(2),
    mebibytes(result.residentBytes),
  ])
  return `${group.inFlight} requests in flight.\n\n${table(head, rows)}`
}

/** Two significant digits of a small ratio, which would otherwise be rounded by a tenth. */
function ratioText(ratio: number | undefined): string {
  return ratio?.toFixed(ratio < 0.1 ? 3 : 2) ?? ''
}

/** Returns the memory of the server as Markdown. */
export function printMemory(memory: readonly MemoryReading[]): string {
  const rows = memory.map(({ moment, residentBytes }) => [moment, mebibytes(residentBytes)])
  return table(['Memory of the server', 'MiB'], rows)
}

/** Formats bytes for people. Empty if unknown. */
export function mebibytes(bytes: number | undefined): string {
  return bytes === undefined ? '' : (bytes / 2 ** 20).toFixed(0)
}

/** Returns a Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0), 3),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (isText(head, i) ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = widths.map((width, i) =>
    isText(head, i) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n')
}

/** Returns whether a column has names, which are aligned to the left, rather than figures. */
function isText(head: readonly string[], column: number): boolean {
  return column === 0 || head[column] === 'of'
}

/**
 * Returns a document with the figures of some groups in place of their previous figures. The figures
 * of other groups stay.
 *
 * @param parts by the names of the groups.
 * @throws Error if the document has no place for a group.
 */
export function withParts(document: string, parts: ReadonlyMap<string, string>): string {
  let written = document
  for (const [name, part] of parts) {
    const begin = written.indexOf(`\n### ${name}\n`) + 1
    if (begin === 0) throw new Error(`the document has no heading ${name}`)
    const end = written.slice(begin).search(/\n### |\n<!-- End/)
    if (end < 0) throw new Error(`the figures of ${name} have no end`)
    written = `${written.slice(0, begin)}${part}${written.slice(begin + end)}`
  }
  return written
}
