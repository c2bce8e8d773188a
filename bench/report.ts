import os from 'node:os'
import type { CaseResult, Group } from './measure.ts'

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

/** Returns the whole report as Markdown, with aligned columns. */
export function printReport(sections: readonly string[], memory: readonly MemoryReading[]): string {
  const parts = [`Machine: ${machineLine()}.`, ...sections, printMemory(memory)]
  return `${parts.join('\n\n')}\n`
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

function printMemory(memory: readonly MemoryReading[]): string {
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

const BEGIN = '<!-- Written by `npm run bench -- --write`. -->'
const END = '<!-- End of what is written. -->'

/**
 * Returns a document with the report in place of the previous one.
 *
 * @throws Error if the document has no markers for the report.
 */
export function withReport(document: string, report: string): string {
  const begin = document.indexOf(BEGIN)
  const end = document.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`the document lacks the lines ${BEGIN} and ${END}`)
  return `${document.slice(0, begin + BEGIN.length)}\n\n${report}\n${document.slice(end)}`
}
