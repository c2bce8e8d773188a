import type { ScriptedCommit, ScriptedFile } from '../../support/histories.ts'

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const NAMES = [
  'plain',
  'with space',
  'tab\there',
  'quote"d',
  'back\\slash',
  'ünï',
  'deep/er/file',
  '-dash',
  'new\nline',
  '日本',
]

/**
 * Four commits at random, the same for the same seed, with changes of every kind that a tree can
 * have.
 */
export function randomHistory(seed: number): ScriptedCommit[] {
  const random = randomNumbers(seed)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const text = () =>
    Array.from({ length: Math.floor(random() * 40) }, () => `line ${Math.floor(random() * 10)}`)
  const content = (): ScriptedFile =>
    pick<() => ScriptedFile>([
      () => text().join('\n'),
      () => `${text().join('\n')}\n`,
      () => text().join('\r\n'),
      () => '',
      () => Buffer.from(Array.from({ length: 600 }, () => Math.floor(random() * 256))),
      () => ({ mode: '100755', content: `#!/bin/sh\n${text().join('\n')}\n` }),
      () => ({ mode: '120000', content: `to/${Math.floor(random() * 100)}` }),
      () => ({
        mode: '160000',
        id: Math.floor(random() * 1e9)
          .toString(16)
          .padStart(40, '1'),
      }),
    ])()
  const tree = new Map<string, ScriptedFile>()
  return Array.from({ length: 4 }, (_, step) => {
    const changes: Record<string, ScriptedFile> = {}
    const change = (name: string, file: ScriptedFile) => {
      changes[name] = file
      if (file === null) tree.delete(name)
      else tree.set(name, file)
    }
    for (const name of NAMES) {
      const old = tree.get(name)
      if (step === 0 || random() < 0.4)
        change(name, old !== undefined && random() < 0.3 ? null : content())
      // Moved, as it is or not quite.
      if (typeof old === 'string' && random() < 0.3) {
        change(`moved/${step}/${name}`, random() < 0.5 ? old : `${old}more\n`)
        change(name, null)
      }
      if (old && typeof old === 'object' && 'content' in old && random() < 0.3)
        change(name, { ...old, mode: '100644' })
    }
    return { message: `step ${step}\n\nWhy: ünï.\n`, files: changes }
  })
}
