import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { CHAOS_REPOSITORY, type ChaosLoad, type SeenMove } from './chaos-load.ts'
import { type GitClient, remoteOf } from './git-client.ts'
import { restAt } from './rest.ts'
import { PASSWORD, type TestUsers } from './server.ts'

/** Checks that nothing that the clients of a load were told is lost, and nothing has happened twice. */
export async function checkAcknowledged(
  url: string,
  { users, client }: { readonly users: TestUsers; readonly client: GitClient },
  { acknowledged, moves, faults }: ChaosLoad,
): Promise<void> {
  expect(faults).toEqual([])
  const rest = restAt(url)
  const git = (...args: string[]) => client.git('checked', ...args)
  const lines = async (...args: string[]) => (await git(...args)).split('\n')
  const remote = remoteOf(url, `bob/${CHAOS_REPOSITORY}`, 'bob', PASSWORD)
  await client.git('.', 'clone', '-q', remote, 'checked')

  const files = new Set(await lines('ls-tree', '--name-only', 'origin/main'))
  expect(acknowledged.files.filter((file) => !files.has(file))).toEqual([])
  if (acknowledged.commits.length > 0) {
    const commits = new Set(await lines('rev-list', 'origin/pushed'))
    expect(acknowledged.commits.filter((commit) => !commits.has(commit))).toEqual([])
  }

  // Each merge is one commit on the base branch.
  const merged = await lines('log', '--first-parent', '--merges', '--format=%s', 'origin/main')
  const numbers = merged.flatMap(
    (title) => /\(#(\d+)\)|pull request #?(\d+)/.exec(title)?.slice(1) ?? [],
  )
  const pulls = numbers.flatMap((number) => (number === undefined ? [] : [Number(number)]))
  expect(new Set(pulls).size).toBe(pulls.length)
  expect(acknowledged.merges.filter((number) => !pulls.includes(number))).toEqual([])
  for (const number of pulls) {
    const { body } = await rest(users.bob, 'GET', `/repos/bob/${CHAOS_REPOSITORY}/pulls/${number}`)
    expect(body.merged).toBe(true)
  }

  for (const memo of acknowledged.memos)
    expect((await rest(users.bob, 'GET', `/${memo}`)).status).toBe(200)
  for (const account of acknowledged.accounts)
    expect((await rest(users.bob, 'GET', `/users/${account}`)).status).toBe(200)
  checkMoves(moves)
}

/** Checks that each event about a ref follows the one before: none is missing, and none came twice. */
function checkMoves(moves: readonly SeenMove[]): void {
  const tips = new Map<string, string>()
  for (const { ref, oldId, newId } of moves) {
    if (tips.has(ref)) expect({ ref, oldId }).toEqual({ ref, oldId: tips.get(ref) })
    tips.set(ref, newId)
  }
}

/** Checks all repositories of a data folder with `git fsck`. */
export async function checkRepositories(data: string, client: GitClient): Promise<void> {
  const root = join(data, 'repositories')
  for (const shard of await readdir(root)) {
    if (!/^[0-9a-f]{2}$/.test(shard)) continue
    for (const name of await readdir(join(root, shard)))
      await client.git('.', '-C', join(root, shard, name), 'fsck', '--full', '--strict')
  }
}
