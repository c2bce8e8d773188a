import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { type GitClient, openGitClient } from './git-client.ts'

/** The start of a story about server processes. */
export interface ProcessStory {
  /** An empty data folder. */
  readonly data: string
  /** The Git client of bob. */
  readonly client: GitClient
}

/**
 * Creates a data folder and a Git client for all tests of a file, and removes both after them. A
 * test file calls the function at its top level.
 */
export async function openProcessStory(): Promise<ProcessStory> {
  const data = await mkdtemp(join(tmpdir(), 'branchline-'))
  const client = await openGitClient()
  afterAll(async () => {
    await rm(data, { recursive: true })
    await client.remove()
  })
  return { data, client }
}
