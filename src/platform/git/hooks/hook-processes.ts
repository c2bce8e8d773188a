import { readdirSync, readFileSync } from 'node:fs'

/** Processes of hooks, read from /proc (proc(5)). On a system without /proc, none are found. */

/** Rounds of a sweep. Each round finds the processes that were started during the previous one. */
const MAX_SWEEPS = 20

/** Returns the number of tasks of the machine, which is cheap to read. */
export function countTasks(): number {
  return Number(/\/(\d+) /.exec(readProc('loadavg'))?.[1] ?? 0)
}

/** O_CLOEXEC as Linux has it on most machines; proc(5), fdinfo. */
const CLOSE_ON_EXEC = 0o2000000

/**
 * Returns the descriptors after the first three that child processes inherit. This process was
 * started with them. All descriptors that Node opens are closed on exec(3).
 */
export function inheritedDescriptors(): number[] {
  return namesIn('self/fdinfo').filter((fd) => {
    const flags = /^flags:\s+([0-7]+)/m.exec(readProc(`self/fdinfo/${fd}`))?.[1]
    return fd > 2 && flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
  })
}

/**
 * Returns the processes in the session of a process, and the descendants whose ancestors still run.
 */
export function familyOf(leader: number): number[] {
  const children = new Map<number, number[]>()
  const family = new Set<number>()
  for (const pid of allProcesses()) {
    const { parent, session } = readStat(pid)
    children.set(parent, [...(children.get(parent) ?? []), pid])
    if (session === leader) family.add(pid)
  }
  // The loop visits the entries that it adds.
  const walked = new Set([leader, ...family])
  for (const pid of walked) for (const child of children.get(pid) ?? []) walked.add(child)
  walked.delete(leader)
  return [...walked]
}

/**
 * Ends the processes in the session of a process, and all processes with a mark in their
 * environment. A process that has left the session and cleared its environment is not found.
 *
 * @param leader the leader of the session. Undefined when the session is unknown.
 * @param mark unique start of an environment entry.
 */
export function sweep(leader: number | undefined, mark: string): void {
  for (let i = 0; i < MAX_SWEEPS; i += 1) {
    const left = allProcesses().filter((pid) => {
      const { session, isGone } = readStat(pid)
      return !isGone && (session === leader || hasEntry(pid, mark))
    })
    if (left.length === 0) return
    for (const pid of left) endProcess(pid)
  }
}

function hasEntry(pid: number, beginning: string): boolean {
  return `\0${readProc(`${pid}/environ`)}`.includes(`\0${beginning}`)
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}

function allProcesses(): number[] {
  return namesIn('')
}

/** Returns the numeric names in a folder of /proc. */
function namesIn(folder: string): number[] {
  try {
    return readdirSync(`/proc/${folder}`).flatMap((name) =>
      /^\d+$/.test(name) ? Number(name) : [],
    )
  } catch {
    return []
  }
}

/** Reads `stat`. The last `) ` ends the program name, which may contain any characters. */
function readStat(pid: number): { parent: number; session: number; isGone: boolean } {
  const [state = '', parent, , session] =
    readProc(`${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
  return {
    parent: Number(parent),
    session: Number(session),
    isGone: state === 'Z' || state === 'X',
  }
}

/** Returns a file of /proc. Empty when the process has ended or belongs to another user. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'latin1')
  } catch {
    return ''
  }
}
