import { readFile, stat } from 'node:fs/promises'
import type { AccessKeys } from './signature.ts'

/** The access keys of a file: the id in the first line, the secret in the second one. */
export interface KeySource {
  /** Returns the present keys. Reads the file when it has changed. */
  read(): Promise<AccessKeys>
  /** Reads the file again. @returns whether its keys are others than before. */
  refresh(): Promise<boolean>
}

/**
 * Creates the source of keys from a file, which the operator may replace at any time.
 *
 * While the file cannot be read, the keys stay as they were.
 */
export function keysOfFile(path: string): KeySource {
  let known: { readonly keys: AccessKeys; readonly version: string } | undefined

  async function load(version: string): Promise<AccessKeys> {
    const [id = '', secret = ''] = (await readFile(path, 'utf8')).split(/\r?\n/)
    if (id.trim() === '' || secret.trim() === '')
      throw new Error(`${path} must have an access key id and a secret, one a line`)
    const keys = { id: id.trim(), secret: secret.trim() }
    known = { keys, version }
    return keys
  }

  return {
    async read() {
      try {
        const version = await versionOf(path)
        return known?.version === version ? known.keys : await load(version)
      } catch (error) {
        if (known) return known.keys
        throw error
      }
    },
    async refresh() {
      const before = known?.keys
      const now = await load(await versionOf(path))
      return now.id !== before?.id || now.secret !== before.secret
    },
  }
}

async function versionOf(path: string): Promise<string> {
  const { mtimeMs, size, ino } = await stat(path)
  return `${mtimeMs} ${size} ${ino}`
}
