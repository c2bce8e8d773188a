import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { runCommand } from '../../support/commands.ts'
import { remoteOf } from '../../support/git-client.ts'
import { serveProcess } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  PASSWORD,
  startTestServer,
  type TestServer,
} from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

const WAIT = { timeout: 60_000, interval: 100 }
const DAY_MS = 24 * 60 * 60_000

/** A moment between two parts of a prune: before or after a Git command with some arguments. */
interface Moment {
  readonly name: string
  readonly git: string
  readonly isAfter?: boolean
  /** Whether removed objects come back. They count as just written, so that a prune keeps them. */
  readonly comesBack?: boolean
  readonly isLong?: boolean
}

const MOMENTS: readonly Moment[] = [
  { name: 'before Git removes anything', git: '--expire-to=', isLong: true },
  { name: 'after Git has moved objects', git: '--expire-to=', isAfter: true, comesBack: true },
  { name: 'before the check', git: '--objects --quiet --all', comesBack: true, isLong: true },
  { name: 'after the check', git: '--format=delete', comesBack: true, isLong: true },
  { name: 'after its end', git: 'commit-graph write' },
]

/** Stops at the moment that the file `moment` beside it describes, until the file is gone. */
const STOPPING_GIT = `#!/bin/sh
here=$(dirname "$0")
PATH=\${PATH#*:}
moment= when=
[ -e "$here/moment" ] && { read -r when moment; } < "$here/moment"
case " $* " in *"$moment"*) ;; *) exec git "$@" ;; esac
[ "$moment" ] || exec git "$@"
[ "$when" = after ] && git "$@"
: > "$here/reached"
while [ -e "$here/moment" ]; do sleep 0.05; done
exit 1
`

const { data, client } = await openProcessStory()
const programs = join(client.home, 'programs')
let server: TestServer
let ada: Actor
let bob: Actor
/** The commits that were left behind in each repository: one has a status, no row needs the other. */
const left: Record<string, { readonly kept: string; readonly lost: string }> = {}

const tested = MOMENTS.filter(({ isLong }) => isLongTier || !isLong).map((moment, i) => ({
  ...moment,
  repository: `cut-${i}`,
  id: i + 1,
}))

const start = () => startTestServer({ data, settings: { maintenance: true } })
const ask = (...request: Parameters<ReturnType<typeof restAt>>) => restAt(server.url)(...request)

beforeAll(async () => {
  await mkdir(programs)
  await writeFile(join(programs, 'git'), STOPPING_GIT)
  await chmod(join(programs, 'git'), 0o755)
  server = await start()
  const users = await createTestUsers(server.url)
  ada = users.ada
  bob = users.bob
  for (const { repository } of tested) {
    await ask(bob, 'POST', '/user/repos', { name: repository, auto_init: true })
    const remote = remoteOf(server.url, `bob/${repository}`, 'bob', PASSWORD)
    await client.git('.', 'clone', '-q', remote, repository)
    const commits = {
      kept: await leaveBehind(repository, 'kept'),
      lost: await leaveBehind(repository, 'lost'),
    }
    const status = { state: 'success' }
    await ask(bob, 'POST', `/repos/bob/${repository}/statuses/${commits.kept}`, status)
    left[repository] = commits
  }
})

afterAll(() => server.stop())

/** Pushes a commit to a branch that is deleted at once. */
async function leaveBehind(repository: string, branch: string): Promise<string> {
  await client.git(repository, 'switch', '-q', '-C', branch, 'origin/main')
  const commit = await client.commit(repository, branch)
  await client.git(repository, 'push', '-q', 'origin', branch)
  await client.git(repository, 'push', '-q', 'origin', `:${branch}`)
  return commit
}

/** Makes all objects look as if they were written long ago. */
function age(folder: string): void {
  const time = new Date(Date.now() - 15 * DAY_MS)
  const objects = join(folder, 'objects')
  for (const part of readdirSync(objects))
    for (const name of readdirSync(join(objects, part)))
      if (/^[0-9a-f]{38}$|^pack-/.test(name)) utimesSync(join(objects, part, name), time, time)
}

/** Asks for a prune. */
const requestPrune = (url: string, repository: string) =>
  restAt(url)(ada, 'POST', `/repos/bob/${repository}/maintenance`, { steps: ['prune'] })

/** Resolves when the requested prune has succeeded. */
async function untilPruned(repository: string): Promise<void> {
  const pruned = expect.arrayContaining([expect.objectContaining({ name: 'prune', error: '' })])
  const look = async () => {
    const { body } = await ask(ada, 'GET', `/repos/bob/${repository}/maintenance`)
    return { requested: body.requested, steps: body.steps }
  }
  await expect.poll(look, WAIT).toEqual({ requested: [], steps: pruned })
}

/** Returns the statuses of reads of the commit that a row needs, of the branch and of the last one. */
async function statuses(repository: string): Promise<number[]> {
  const { kept, lost } = left[repository] ?? { kept: '', lost: '' }
  const read = (commit: string) => ask(bob, 'GET', `/repos/bob/${repository}/git/commits/${commit}`)
  const answers = await Promise.all([kept, 'main', lost].map(read))
  return answers.map(({ status }) => status)
}

describe('a server that is killed in a prune', { timeout: 120_000 }, () => {
  it.each(tested)('$name loses nothing, and the next prune completes', async (moment) => {
    const { repository, id, isAfter = false, comesBack = false } = moment
    const folder = repositoryPath(server.app.git, id)
    age(folder)
    await server.stop()
    await rm(join(programs, 'reached'), { force: true })
    await writeFile(join(programs, 'moment'), `${isAfter ? 'after' : 'before'} ${moment.git}\n`)
    const killed = await serveProcess(data, [], {
      PATH: programs + delimiter + process.env.PATH,
    })
    expect((await requestPrune(killed.url, repository)).status).toBe(202)
    await expect.poll(() => existsSync(join(programs, 'reached')), WAIT).toBe(true)
    killed.child.kill('SIGKILL')
    await killed.exited
    await rm(join(programs, 'moment'))

    server = await start()
    await untilPruned(repository)
    expect(await statuses(repository)).toEqual([200, 200, comesBack ? 200 : 404])
    if (comesBack) {
      const purge = `/repos/bob/${repository}/maintenance/purge`
      expect((await ask(ada, 'POST', purge)).status).toBe(204)
      expect(await statuses(repository)).toEqual([200, 200, 404])
    }
    expect(await client.git('.', '-C', folder, 'for-each-ref')).not.toContain('refs/branchline')
    await client.git('.', '-C', folder, 'fsck', '--full', '--strict', '--no-dangling')
    await client.git('.', 'clone', '-q', `${server.url}/bob/${repository}`, `${repository}-again`)
  })

  it('leaves nothing that doctor finds, and what a prune has removed can come back', async () => {
    const { stdout } = await runCommand(['limbo', 'list', '--data', data])
    for (const { repository, comesBack } of tested) {
      if (comesBack) continue
      expect(stdout).toContain(`bob/${repository} `)
      await runCommand(['limbo', 'restore', '--data', data, `bob/${repository}`])
      expect(await statuses(repository)).toEqual([200, 200, 200])
    }
    await server.stop()
    expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    server = await start()
  })
})
