import { readdirSync, readFileSync } from 'node:fs'

/**
 * Processes of hooks, as /proc tells of them (proc(5)). Where there is none, there are no
 * processes.
 */

/** Rounds of looking for what is left. Each finds what has been started during the one before. */
const MAX_SWEEPS = 20

/** How many tasks the machine has, at the cost of one small file. */
export function countTasks(): number {
  return Number(/\/(\d+) /.exec(readProc('loadavg'))?.[1] ?? 0)
}

/** O_CLOEXEC as Linux has it on most machines; proc(5), fdinfo. */
const CLOSE_ON_EXEC = 0o2000000

/**
 * Descriptors beside the first three that children of this process inherit: those that it was
 * started with, and that the runtime has not found. Everything that it opens itself is closed on
 * exec(3).
 */
export function inheritedDescriptors(): number[] {
  return namesIn('self/fdinfo').filter((fd) => {
    const flags = /^flags:\s+([0-7]+)/m.exec(readProc(`self/fdinfo/${fd}`))?.[1]
    return fd > 2 && flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
  })
}

/** The descendants of a process, as far as their ancestors live, and who is in its session. */
export function familyOf(leader: number): number[] {
  const children = new Map<number, number[]>()
  const family = new Set<number>()
  for (const pid of allProcesses()) {
    const { parent, session } = readStat(pid)
    children.set(parent, [...(children.get(parent) ?? []), pid])
    if (session === leader) family.add(pid)
  }
  // What is added while it is walked is walked, too.
  const walked = new Set([leader, ...family])
  for (const pid of walked) for (const child of children.get(pid) ?? []) walked.add(child)
  walked.delete(leader)
  return [...walked]
}

/**
 * Ends what a process has left behind: who is in its session, and who has a mark in its
 * environment, whatever became of its parents. Who has left the one and cleared the other is not
 * found.
 *
 * @param leader undefined for that of nobody knows which session.
 * @param mark beginning of an entry, which no other process has.
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
    // It has ended by itself.
  }
}

function allProcesses(): number[] {
  return namesIn('')
}

/** Names in a folder below /proc that are numbers. */
function namesIn(folder: string): number[] {
  try {
    return readdirSync(`/proc/${folder}`).flatMap((name) =>
      /^\d+$/.test(name) ? Number(name) : [],
    )
  } catch {
    return []
  }
}

/** Names of programs, which come before, may hold anything. */
function readStat(pid: number): { parent: number; session: number; isGone: boolean } {
  const [state = '', parent, , session] =
    readProc(`${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
  return {
    parent: Number(parent),
    session: Number(session),
    isGone: state === 'Z' || state === 'X',
  }
}

/** Empty for what is not there any more, or not ours. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'latin1')
  } catch {
    return ''
  }
}
