import { readFileSync } from 'node:fs'
import { childrenOf } from './process-spawner.ts'

/** Often enough to see every process that takes long to fill its memory. */
const SAMPLE_INTERVAL_MS = 20

/** What is seen of the memory of the processes below one. */
export interface MemoryWatch {
  /** Most that one of them had in RAM, as the kernel counted (proc(5), `VmHWM`), in bytes. */
  readonly peakBytes: () => number
  /** What all of them have now, in bytes, files that are mapped left out. */
  readonly totalBytes: () => number
  stop(): void
}

/** Watches the memory of all descendants of this process that run git. */
export function watchGitMemory(): MemoryWatch {
  let peak = 0
  const sample = () => {
    let total = 0
    for (const pid of descendantsOf(process.pid)) {
      const status = readStatus(pid)
      if (!/^Name:\tgit/m.test(status)) continue
      peak = Math.max(peak, bytesOf(status, 'VmHWM'))
      total += bytesOf(status, 'RssAnon')
    }
    return total
  }
  const timer = setInterval(sample, SAMPLE_INTERVAL_MS)
  return {
    peakBytes: () => peak,
    totalBytes: sample,
    stop: () => clearInterval(timer),
  }
}

/** Returns the processes below one. */
export function descendantsOf(pid: number): number[] {
  let children: number[] = []
  try {
    children = childrenOf(pid)
  } catch {
    // It has ended.
  }
  return children.flatMap((child) => [child, ...descendantsOf(child)])
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1')
  } catch {
    return ''
  }
}

function bytesOf(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024
}
