import type { Complete } from './archive.ts'
import { RestoreError } from './archive-reader.ts'

/** More than `complete.json` has for a million deleted repositories. */
export const MAX_JSON_BYTES = 16 * 1024 * 1024

/** @throws RestoreError */
export function jsonOf(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8'))
  } catch {
    throw damaged()
  }
}

/**
 * Returns the content of `complete.json`.
 *
 * @throws RestoreError
 */
export function completeOf(json: unknown): Complete {
  if (!isRecord(json)) throw damaged()
  const { tables, lastIds, deletedRepositories, deletedAssets, digest } = json
  const isComplete =
    isRecord(tables) &&
    Object.values(tables).every(isTable) &&
    isRecord(lastIds) &&
    Object.values(lastIds).every(Number.isSafeInteger) &&
    isIds(deletedRepositories) &&
    isIds(deletedAssets) &&
    typeof digest === 'string'
  if (!isComplete) throw damaged()
  return json as unknown as Complete
}

function damaged(): RestoreError {
  return new RestoreError('the archive is damaged, or not a backup of Branchline')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTable(value: unknown): boolean {
  if (!isRecord(value) || !Array.isArray(value.columns)) return false
  return Number.isSafeInteger(value.rows) && typeof value.sum === 'string'
}

function isIds(value: unknown): boolean {
  return Array.isArray(value) && value.every(Number.isSafeInteger)
}
