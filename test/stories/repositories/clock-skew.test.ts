import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { examine } from '../../../src/forge/administration/doctor.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { HISTORY_START, importHistory, type ScriptedCommit } from '../../support/histories.ts'
import { PASSWORD } from '../../support/server.ts'

const { server, users, client, rest, ask } = await openForge()

/** Pushes a history into a new repository of bob. Returns a function that runs git in a copy. */
async function pushed(name: string, commits: readonly ScriptedCommit[]) {
  await ask(users.bob, 'POST', '/user/repos', { name })
  await client.git('.', 'init', '-q', '--bare', '-b', 'main', name)
  importHistory(join(client.home, name), commits)
  await client.git(
    name,
    'push',
    '-q',
    '--all',
    remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD),
  )
  return (...args: string[]) => client.git(name, ...args)
}

const branch = (name: string) => `refs/heads/${name}`

/** The clock that made the second and the third commit was slow. */
const SLOW: readonly ScriptedCommit[] = [
  { on: branch('old'), message: 'one', files: { a: '1' }, time: HISTORY_START },
  { message: 'two', parents: [branch('old')], files: { a: '2' }, time: HISTORY_START - 60 },
  { message: 'three', files: { a: '3' }, time: HISTORY_START - 30 },
  { message: 'four', files: { a: '4' }, time: HISTORY_START + 60 },
  {
    on: branch('topic'),
    message: 'topic',
    parents: [branch('old')],
    files: { b: '1' },
    time: HISTORY_START + 90,
  },
]

const shasOf = (list: readonly { sha: string }[]) => list.map(({ sha }) => sha)

describe('a commit that is earlier than its parent', () => {
  it('hides no commit of the base', async () => {
    const git = await pushed('slow', SLOW)
    expect(await git('rev-list', 'main..old')).toBe('')
    const { total_commits, commits } = await ask(
      users.bob,
      'GET',
      '/repos/bob/slow/compare/main...old',
    )
    expect([total_commits, commits]).toEqual([0, []])
    expect(await ask(users.bob, 'GET', '/repos/bob/slow/commits?sha=old&not=main')).toEqual([])
    const fork = await ask(users.ada, 'POST', '/repos/bob/slow/forks', {})
    expect(fork.full_name).toBe('ada/slow')
    const across = await ask(users.ada, 'GET', '/repos/bob/slow/compare/main...ada:topic')
    expect(shasOf(across.commits)).toEqual([await git('rev-parse', 'topic')])
  })

  it('makes no pull request the origin of an old commit', async () => {
    const git = await pushed('merged', SLOW)
    const path = '/repos/bob/merged'
    const [old, topic] = [await git('rev-parse', 'old'), await git('rev-parse', 'topic')]
    const order = { title: 'Topic', head: 'topic', base: 'main' }
    const { number, id } = await ask(users.bob, 'POST', `${path}/pulls`, order)
    const listed = await ask(users.bob, 'GET', `${path}/pulls/${number}/commits`)
    expect(shasOf(listed)).toEqual([topic])
    await ask(users.bob, 'POST', `${path}/pulls/${number}/merge`, { Do: 'merge' })
    const pullOf = (sha: string) => rest(users.bob, 'GET', `${path}/commits/${sha}/pull`)
    expect((await pullOf(topic)).body.number).toBe(number)
    expect((await pullOf(old)).status).toBe(404)

    // As an earlier version stored the list.
    const { repository_id } = await server.app.db
      .selectFrom('merged_commits')
      .select('repository_id')
      .where('pull_request_id', '=', id)
      .executeTakeFirstOrThrow()
    const wrong = { repository_id, commit_id: Buffer.from(old, 'hex'), pull_request_id: id }
    await server.app.db.insertInto('merged_commits').values(wrong).execute()
    expect((await pullOf(old)).status).toBe(200)
    const problems = async (fix: boolean) => {
      const found: string[] = []
      for await (const { problem, outcome } of examine(server.app, { fsck: false, fix }))
        found.push(`${problem}: ${outcome}`)
      return found
    }
    const text = `pull request ${number} is found by 1 commits that its base had before`
    expect(await problems(false)).toEqual([`${text}: --fix repairs it`])
    expect(await problems(true)).toEqual([`${text}: repaired`])
    expect(await problems(false)).toEqual([])
    expect((await pullOf(old)).status).toBe(404)
    expect((await pullOf(topic)).body.number).toBe(number)
  })
})
