import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { MaintenanceService } from '#gen/branchline/v1/maintenance_service_pb.ts'
import { examine } from '../../../src/forge/administration/doctor.ts'
import { findDamage } from '../../../src/forge/repositories/maintenance/maintenance-checks.ts'
import { sweepReplacedFiles } from '../../../src/forge/repositories/maintenance/prunes.ts'
import { readState } from '../../../src/platform/git/maintenance/state.ts'
import { STEPS } from '../../../src/platform/git/maintenance/steps.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { type Forge, openForge, refusalOf, startForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { createToken, PASSWORD } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/** 200 pushes as the contract of maintenance has them; fewer and larger ones in the usual tier. */
const PUSHES = isLongTier ? 200 : 14
const FILES_PER_PUSH = isLongTier ? 2 : 48

const WAIT = { timeout: 60_000, interval: 50 }

const forge = await openForge({ settings: { maintenance: true } })
const { users, ask, rest, client } = forge
afterAll(forge.checkObjects)

async function clonedRepository(name: string, from: Forge = forge): Promise<string> {
  await from.ask(from.users.bob, 'POST', '/user/repos', { name, auto_init: true })
  const remote = remoteOf(from.server.url, `bob/${name}`, 'bob', PASSWORD)
  await from.client.git('.', 'clone', '-q', remote, name)
  return remote
}

async function repositoryId(name: string, from: Forge = forge): Promise<number> {
  const { id } = await from.ask(from.users.bob, 'GET', `/repos/bob/${name}`)
  return id
}

/** Pushes commits to main, each with new files and a branch of its own. */
async function pushMany(name: string, pushes: number, from: Forge = forge): Promise<void> {
  for (let push = 0; push < pushes; push++) {
    const folder = `part-${push}`
    await mkdir(join(from.client.home, name, folder), { recursive: true })
    for (let file = 0; file < FILES_PER_PUSH; file++)
      writeFileSync(join(from.client.home, name, folder, `${file}.txt`), `${push} ${file}\n`)
    await from.client.git(name, 'add', '.')
    await from.client.commit(name, `part ${push}`)
    await from.client.git(name, 'push', '-q', 'origin', 'HEAD', `HEAD:refs/heads/side-${push}`)
  }
}

/** Pushes a commit with so many new files that the server keeps its pack. */
async function pushFiles(name: string, files: number, from: Forge): Promise<void> {
  for (let file = 0; file < files; file++)
    writeFileSync(join(from.client.home, name, `${files}-${file}.txt`), `${files} ${file}\n`)
  await from.client.git(name, 'add', '.')
  await from.client.commit(name, `${files} files`)
  await from.client.git(name, 'push', '-q', 'origin', 'HEAD')
}

/** Reads of a repository whose answers maintenance must not change. */
const READS = [
  '',
  '/branches?limit=50',
  '/branches/main',
  '/tags',
  '/commits?limit=50',
  '/commits?path=part-3',
  '/commits?path=part-3/1.txt',
  '/commits?sha=side-7',
  '/contents',
  '/contents/part-5',
  '/contents/part-5/1.txt',
  '/contents/README.md?ref=side-2',
  '/git/refs',
  '/git/refs/heads/side-9',
  '/git/trees/main?recursive=true',
  '/compare/side-1...side-4',
  '/languages',
  '/git/commits/side-11',
]

function readAll(name: string, from: Forge = forge): Promise<unknown[]> {
  return Promise.all(
    READS.map(async (path) => {
      const { status, body } = await from.rest(from.users.bob, 'GET', `/repos/bob/${name}${path}`)
      expect(status, path).toBe(200)
      // Sizes are measured in the background.
      return path === '' ? { ...body, size: 0, owned_size: 0 } : body
    }),
  )
}

const maintenanceOf = (name: string) => ask(users.bob, 'GET', `/repos/bob/${name}/maintenance`)

/** Asks for all steps as an administrator and waits for their end. */
async function maintain(name: string, from: Forge = forge): Promise<void> {
  const path = `/repos/bob/${name}/maintenance`
  await from.ask(from.users.ada, 'POST', path, { steps: STEPS })
  await expect
    .poll(async () => (await from.ask(from.users.ada, 'GET', path)).requested, WAIT)
    .toEqual([])
}

describe('a repository after many pushes', () => {
  it('is packed by itself and answers as before', { timeout: 300_000 }, async () => {
    const remote = await clonedRepository('busy')
    await pushMany('busy', PUSHES)
    const before = await readAll('busy')
    const id = await repositoryId('busy')
    await expect
      .poll(async () => {
        const { due, steps, requested } = await maintenanceOf('busy')
        return { due, requested, ran: steps.map(({ name }: { name: string }) => name) }
      }, WAIT)
      .toMatchObject({ due: [], requested: [], ran: expect.arrayContaining(['geometric']) })
    const state = await readState(forge.server.app.git, id)
    expect(state?.looseObjects).toBeLessThanOrEqual(512)
    expect(state?.packs.length).toBeLessThanOrEqual(5)
    expect(await readAll('busy')).toEqual(before)
    await client.git('.', 'clone', '-q', remote, 'busy-again')
    for (const ref of ['HEAD', 'HEAD^{tree}', 'origin/side-3'])
      expect(await client.git('busy-again', 'rev-parse', ref)).toBe(
        await client.git('busy', 'rev-parse', ref),
      )
    const metrics = await (await fetch(`${forge.server.url}/metrics`)).text()
    expect(metrics).toMatch(
      /branchline_maintenance_steps_total\{step="geometric",result="ok"\} [1-9]/,
    )
    expect(metrics).toMatch(/branchline_maintenance_seconds_total\{step="geometric"\} \d/)
    expect(metrics).toContain('branchline_maintenance_due 0')
    expect(metrics).toMatch(/branchline_repositories_bytes\{kind="packs"\} [1-9]/)
    for (const kind of ['loose', 'lfs', 'assets', 'limbo'])
      expect(metrics).toContain(`branchline_repositories_bytes{kind="${kind}"} `)
    expect(forge.server.logged).toContainEqual(
      expect.objectContaining({ msg: 'maintenance', step: 'geometric', repository: id }),
    )
    expect(forge.server.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('has all steps on request, with bitmap, graph and packed refs', async () => {
    await maintain('busy')
    const { bob } = users
    const found = await ask(bob, 'GET', '/repos/bob/busy/maintenance')
    expect(found).toMatchObject({
      automatic: true,
      loose_objects: 0,
      loose_refs: 0,
      multi_pack_index: true,
      bitmap: true,
      error: '',
      failures: 0,
    })
    expect(found.owned_bytes).toBe(found.packs_bytes)
    expect(found.steps.map(({ name }: { name: string }) => name).sort()).toEqual([
      'bitmap',
      'commit-graph',
      'full',
      'geometric',
      'prune',
      'refs',
    ])
    expect(found.paused_until).toBeUndefined()
  })
})

describe('requests', () => {
  it('are for administrators, once an hour for owners, and for known steps', async () => {
    const { ada, bob, carol } = users
    await ask(bob, 'POST', '/user/repos', { name: 'asked', private: true })
    const path = '/repos/bob/asked/maintenance'
    const post = (who: typeof bob, body: object) => rest(who, 'POST', path, body)
    expect((await rest(carol, 'GET', path)).status).toBe(404)
    expect((await post(carol, {})).status).toBe(404)
    await ask(bob, 'PUT', '/repos/bob/asked/collaborators/carol', { permission: 'write' })
    expect((await rest(carol, 'GET', path)).status).toBe(403)
    expect((await post(carol, {})).status).toBe(403)
    expect((await post(bob, { steps: ['repack'] })).status).toBe(422)
    expect((await post(bob, { steps: ['geometric', 'refs'] })).status).toBe(202)
    expect((await post(bob, { steps: ['refs'] })).status).toBe(429)
    expect((await post(ada, { steps: ['commit-graph'] })).status).toBe(202)
    expect((await post(ada, {})).status).toBe(202)
    const asked = { owner: 'bob', repo: 'asked', steps: ['nothing'] }
    expect(
      await refusalOf(forge.grpc(MaintenanceService, bob).requestRepositoryMaintenance(asked)),
    ).toMatchObject({ reason: 'UNKNOWN_MAINTENANCE_STEP', metadata: { name: 'nothing' } })
    expect((await rest(bob, 'GET', '/admin/maintenance')).status).toBe(403)
    await expect
      .poll(async () => (await ask(ada, 'GET', '/admin/maintenance')).length, WAIT)
      .toBe(0)
  })
})

describe('a busy server', () => {
  it('lets maintenance wait until half of the slots are free', async () => {
    const { readers } = forge.server.app.git
    const taken = Array.from({ length: 8 }, () => readers.tryAcquire())
    expect(taken).not.toContain(undefined)
    await ask(users.bob, 'POST', '/user/repos', { name: 'patient', auto_init: true })
    await ask(users.ada, 'POST', '/repos/bob/patient/maintenance', { steps: ['refs'] })
    const queue = () => ask(users.ada, 'GET', '/admin/maintenance')
    await expect.poll(() => forge.server.app.maintenance.running.size, WAIT).toBe(1)
    expect(await queue()).toMatchObject([{ full_name: 'bob/patient', requested: ['refs'] }])
    expect((await maintenanceOf('patient')).steps).toEqual([])
    for (const release of taken) release?.()
    await expect.poll(async () => (await maintenanceOf('patient')).steps.length, WAIT).toBe(1)
  })
})

describe('a repository whose steps fail', () => {
  it('is paused after three failures, and everybody concerned is told', async () => {
    await clonedRepository('broken')
    const id = await repositoryId('broken')
    const packs = join(repositoryPath(forge.server.app.git, id), 'objects/pack')
    for (const end of ['pack', 'idx']) writeFileSync(join(packs, `pack-broken.${end}`), 'nothing')
    for (let failures = 1; failures <= 3; failures++) {
      await ask(users.ada, 'POST', '/repos/bob/broken/maintenance', { steps: ['bitmap'] })
      await expect.poll(async () => (await maintenanceOf('broken')).failures, WAIT).toBe(failures)
    }
    const found = await maintenanceOf('broken')
    expect(found.error).toMatch(/^bitmap: .*pack/)
    expect(found.error).not.toContain(forge.server.data)
    expect(Date.parse(found.paused_until)).toBeGreaterThan(Date.now() + 23 * 3_600_000)
    expect(await ask(users.ada, 'GET', '/admin/maintenance')).toMatchObject([
      { full_name: 'bob/broken', failures: 3, paused_until: found.paused_until },
    ])
    expect(forge.server.logged).toContainEqual(
      expect.objectContaining({ level: 'error', repository: id, step: 'bitmap' }),
    )
    const findings = []
    for await (const finding of examine(forge.server.app, { fsck: false, fix: false }))
      findings.push(finding)
    expect(findings).toContainEqual({
      subject: `repository ${id}`,
      problem: expect.stringContaining('its maintenance failed and is paused until'),
      outcome: 'the server tries again',
    })
    // Pushes go on meanwhile, and the deletion of the repository ends the pause.
    await client.commit('broken', 'still')
    await client.git('broken', 'push', '-q')
    await ask(users.bob, 'DELETE', '/repos/bob/broken')
    expect(await ask(users.ada, 'GET', '/admin/maintenance')).toEqual([])
  })
})

describe('a damaged commit-graph', () => {
  it('is named by doctor, removed before the next step, and written again', async () => {
    await clonedRepository('damaged')
    const id = await repositoryId('damaged')
    await maintain('damaged')
    const folder = join(repositoryPath(forge.server.app.git, id), 'objects/info/commit-graphs')
    const [graph = ''] = readdirSync(folder).filter((name) => name.endsWith('.graph'))
    chmodSync(join(folder, graph), 0o600)
    writeFileSync(join(folder, graph), 'damaged and longer than a checksum')
    const findings = []
    for await (const finding of examine(forge.server.app, { fsck: true, fix: false }))
      findings.push(finding)
    expect(findings).toContainEqual({
      subject: `repository ${id}`,
      problem: `objects/info/commit-graphs/${graph} is damaged`,
      outcome: '--fix repairs it',
    })
    await maintain('damaged')
    expect(forge.server.logged).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        repository: id,
        msg: 'damaged files of maintenance were removed',
      }),
    )
    expect(readdirSync(folder)).toContain('commit-graph-chain')
  })

  it('of a repository without changes is found in its hour of the week', async () => {
    const { app } = forge.server
    await clonedRepository('silent')
    const id = await repositoryId('silent')
    await maintain('silent')
    const folder = join(repositoryPath(app.git, id), 'objects/info/commit-graphs')
    const [graph = ''] = readdirSync(folder).filter((name) => name.endsWith('.graph'))
    chmodSync(join(folder, graph), 0o600)
    writeFileSync(join(folder, graph), 'damaged and longer than a checksum')
    const { signal } = new AbortController()
    const at = (hour: number) => ({ ...app, clock: { now: () => hour * 60 * 60_000 } })
    await findDamage(at(id + 1), [id], signal)
    expect(readdirSync(folder)).toContain(graph)
    await findDamage(at(id), [id], signal)
    await expect.poll(() => existsSync(join(folder, graph)), WAIT).toBe(false)
  })
})

describe('forks', () => {
  it('keep sharing a large pack with their parent', async () => {
    await clonedRepository('parent')
    writeFileSync(join(client.home, 'parent', 'large.bin'), randomBytes(2 * 1024 ** 2))
    await client.git('parent', 'add', '.')
    await client.commit('parent', 'large')
    await client.git('parent', 'push', '-q')
    await maintain('parent')
    const fork = await ask(users.ada, 'POST', '/repos/bob/parent/forks', {})
    await client.commit('parent', 'more')
    await client.git('parent', 'push', '-q')
    await maintain('parent')
    await ask(users.ada, 'POST', '/repos/ada/parent/maintenance', {})
    const path = '/repos/ada/parent/maintenance'
    await expect.poll(async () => (await ask(users.ada, 'GET', path)).requested, WAIT).toEqual([])
    expect(await ask(users.ada, 'GET', path)).toMatchObject({ shared_packs: 1 })
    expect(await maintenanceOf('parent')).toMatchObject({ shared_packs: 1, loose_objects: 0 })
    const folder = join(repositoryPath(forge.server.app.git, fork.id), 'objects/pack')
    const links = readdirSync(folder)
      .filter((name) => name.endsWith('.pack'))
      .map((name) => statSync(join(folder, name)))
      .filter(({ size }) => size > 1024 ** 2)
      .map(({ nlink }) => nlink)
    expect(links).toEqual([2])
  })

  it('share the new pack after the parent was packed as a whole', async () => {
    await clonedRepository('root')
    const push = async (name: string) => {
      writeFileSync(join(client.home, 'root', name), randomBytes(2 * 1024 ** 2))
      await client.git('root', 'add', '.')
      await client.commit('root', name)
      await client.git('root', 'push', '-q')
    }
    await push('first.bin')
    await maintain('root')
    const fork = await ask(users.ada, 'POST', '/repos/bob/root/forks', {})
    const path = { fork: '/repos/ada/root/maintenance', root: '/repos/bob/root/maintenance' }
    await push('second.bin')
    const run = async (steps: string[]) => {
      await ask(users.ada, 'POST', path.root, { steps })
      await expect
        .poll(async () => (await ask(users.ada, 'GET', path.root)).requested, WAIT)
        .toEqual([])
      const { steps: reports } = await ask(users.ada, 'GET', path.root)
      expect(reports.map(({ error }: { error: string }) => error).join('')).toBe('')
    }
    await run(['full'])
    for (const one of [path.fork, path.root])
      expect(await ask(users.ada, 'GET', one)).toMatchObject({ packs: 1, shared_packs: 1 })
    // The fork of a hidden repository gets nothing that the fork does not have.
    await ask(users.bob, 'PATCH', '/repos/bob/root', { private: true })
    await push('third.bin')
    const hidden = (await client.git('root', 'rev-parse', 'HEAD')).trim()
    await run(['full'])
    expect(await ask(users.ada, 'GET', path.fork)).toMatchObject({ packs: 1, shared_packs: 0 })
    const folder = repositoryPath(forge.server.app.git, fork.id)
    await expect(client.git('.', '-C', folder, 'cat-file', '-e', hidden)).rejects.toThrow()
    await rest(users.bob, 'DELETE', '/repos/bob/root')
    expect(await client.git('.', '-C', folder, 'rev-list', '--objects', '--all')).toContain(
      'first.bin',
    )
  })
})

const DAY_MS = 24 * 60 * 60_000

describe('a repository that has many small packs for a month', () => {
  it('is packed as a whole, in the hours of the window', async () => {
    const times = { now: Date.UTC(2026, 2, 1, 12) }
    const timed = await startForge({
      clock: { now: () => times.now },
      settings: { maintenance: true, maintenanceWindow: { start: 60, end: 180 } },
    })
    onTestFinished(timed.stop)
    // Sessions end before a month is over.
    const [bob, ada] = await Promise.all(
      [timed.users.bob, timed.users.ada].map(async (who) => {
        const token = await createToken(timed.server.url, who, ['all'])
        return { ...who, authorization: `Bearer ${token}` }
      }),
    )
    const path = '/repos/bob/monthly/maintenance'
    const look = async () => {
      await timed.ask(ada, 'POST', path, { steps: ['refs'] })
      await expect.poll(async () => (await timed.ask(bob, 'GET', path)).requested, WAIT).toEqual([])
      return timed.ask(bob, 'GET', path)
    }
    // The size is measured in the background, and may ask for one more check in the middle of a step.
    const nextCheck = async () => (await timed.ask(bob, 'GET', path)).next_check_at
    await clonedRepository('monthly', timed)
    for (const files of [300, 120]) await pushFiles('monthly', files, timed)
    const gone = await timed.client.commit('monthly', 'to be removed')
    await timed.client.git('monthly', 'push', '-q', 'origin', 'HEAD:refs/heads/gone')
    await timed.client.git('monthly', 'push', '-q', 'origin', ':refs/heads/gone')
    const ran = ({ steps }: { steps: { name: string }[] }) => steps.map(({ name }) => name)
    expect(ran(await look())).not.toContain('full')
    times.now += 31 * DAY_MS
    const waiting = await look()
    expect(ran(waiting)).not.toContain('full')
    await expect.poll(nextCheck, WAIT).toBe('2026-04-02T01:00:00Z')
    times.now = Date.parse(await nextCheck()) + 1000
    expect(await look()).toMatchObject({ packs: 2, loose_objects: 0 })
    const packed = await look()
    expect(ran(packed)).toContain('full')
    await expect.poll(nextCheck, WAIT).toBe('2026-04-09T01:00:01Z')
    // The server keeps what no ref reaches.
    expect(await timed.ask(bob, 'GET', `/repos/bob/monthly/git/commits/${gone}`)).toMatchObject({
      sha: gone,
    })
    expect(ran(packed)).not.toContain('prune')
    times.now = Date.parse(await nextCheck()) + 1000
    expect(ran(await look())).toContain('prune')
    await timed.checkObjects()
  })
})

describe('without automatic maintenance', () => {
  it('nothing runs by itself, and requests still work', { timeout: 120_000 }, async () => {
    const off = await startForge({ settings: { maintenance: false } })
    try {
      await clonedRepository('manual', off)
      await pushMany('manual', 1, off)
      for (let i = 0; i < 700; i++)
        writeFileSync(join(off.client.home, 'manual', `file-${i}`), `${i}`)
      await off.client.git('manual', 'add', '.')
      await off.client.commit('manual', 'many')
      await off.client.git('manual', '-c', 'pack.depth=0', 'push', '-q', 'origin', 'HEAD')
      await off.client.git('manual', 'push', '-q', 'origin', 'HEAD:refs/heads/again')
      const path = '/repos/bob/manual/maintenance'
      const found = await off.ask(off.users.bob, 'GET', path)
      expect(found).toMatchObject({ automatic: false, steps: [] })
      await maintain('manual', off)
      expect(await off.ask(off.users.bob, 'GET', path)).toMatchObject({
        loose_objects: 0,
        bitmap: true,
      })
      await off.checkObjects()
    } finally {
      await off.stop()
    }
  })
})

describe('several servers on a network file system', () => {
  it('can read what a step has replaced for another hour', async () => {
    const { app } = forge.server
    Object.assign(app.git, { isShared: true, isOnNetwork: true })
    onTestFinished(() => {
      Object.assign(app.git, { isShared: false, isOnNetwork: undefined })
    })
    await clonedRepository('network')
    const id = await repositoryId('network')
    const path = '/repos/bob/network/maintenance'
    const pack = async () => {
      await ask(users.ada, 'POST', path, { steps: ['full'] })
      await expect.poll(async () => (await ask(users.ada, 'GET', path)).requested, WAIT).toEqual([])
    }
    await pushFiles('network', 3, forge)
    await pack()
    const folder = join(repositoryPath(app.git, id), 'objects/pack')
    const names = readdirSync(folder).filter((name) => /^pack-.*\.pack$/.test(name))
    const open = names.map((name) => openSync(join(folder, name), 'r'))
    await pushFiles('network', 4, forge)
    await pack()
    const links = () => open.map((file) => fstatSync(file).nlink)
    expect(names.filter((name) => existsSync(join(folder, name)))).toEqual([])
    expect(links()).toEqual(open.map(() => 1))
    expect((await readState(app.git, id))?.packs.some(({ isLinked }) => isLinked)).toBe(false)
    await sweepReplacedFiles(app)
    expect(links()).toEqual(open.map(() => 1))
    const later = { now: () => app.clock.now() + 60 * 60_000 }
    await sweepReplacedFiles({ ...app, clock: { ...app.clock, ...later } })
    expect(links()).toEqual(open.map(() => 0))
    for (const file of open) closeSync(file)
  })
})

describe('while steps run in a loop', () => {
  it('pushes, clones, merges and reads succeed', { timeout: 300_000 }, async () => {
    const remote = await clonedRepository('loop')
    await pushMany('loop', 12)
    const { app } = forge.server
    const endMs = Date.now() + (isLongTier ? 60_000 : 1_000)
    const isOver = () => Date.now() > endMs
    const loop = async (work: (round: number) => Promise<unknown>) => {
      let rounds = 0
      for (; rounds === 0 || !isOver(); rounds++) await work(rounds)
      return rounds
    }
    const rounds = await Promise.all([
      loop(() => maintain('loop')),
      loop(async (round) => {
        await client.commit('loop', `round ${round}`)
        await client.git('loop', 'push', '-q', 'origin', 'HEAD', `HEAD:refs/heads/r${round}`)
      }),
      loop((round) => client.git('.', 'clone', '-q', remote, `loop-${round}`)),
      loop(() => readAll('loop')),
      loop(async (round) => {
        const content = Buffer.from(`merge ${round}`).toString('base64')
        await ask(users.bob, 'POST', `/repos/bob/loop/contents/merges/${round}.txt`, {
          content,
          branch: 'side-1',
          new_branch: `merge-${round}`,
        })
        const pull = await ask(users.bob, 'POST', '/repos/bob/loop/pulls', {
          head: `merge-${round}`,
          base: 'side-2',
          title: `merge ${round}`,
        })
        await ask(users.bob, 'POST', `/repos/bob/loop/pulls/${pull.number}/merge`, { Do: 'merge' })
      }),
    ])
    expect(Math.min(...rounds)).toBeGreaterThan(0)
    await app.background.settled()
    const steps = forge.server.logged.filter(({ msg }) => msg === 'maintenance')
    expect(steps.filter(({ failed }) => failed)).toHaveLength(3)
    const errors = forge.server.logged.filter(({ level }) => level === 'error')
    expect(errors.map(({ msg }) => msg)).toEqual([
      'maintenance of a repository is paused for a day',
    ])
  })
})
