import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Forge, startForge } from '../../support/forge.ts'
import { LfsSshDriver } from '../../support/lfs-ssh.ts'
import { childrenWith } from '../../support/process.ts'
import { createSshKey, hasSsh, runSsh, sshOptions } from '../../support/ssh-client.ts'

const WAIT = { timeout: 60_000, interval: 50 }

// Only a file whose tests run stops its servers after them.
let forge: Forge
let options: readonly string[] = []

describe.skipIf(!hasSsh)('the SSH program (skipped where ssh is missing)', () => {
  beforeAll(async () => {
    const listen = { host: '127.0.0.1', port: 0 }
    forge = await startForge({ ssh: { listen, public: {}, user: 'git', hostKeyFiles: [] } })
    const { ask, client, server, users } = forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'films', private: true, auto_init: true })
    const key = await createSshKey(client.home, 'own')
    await ask(users.bob, 'POST', '/user/keys', { title: 'own', key })
    const port = server.sshAddress?.split(':').at(-1) ?? ''
    options = [...sshOptions(client.home, 'own'), '-p', port, 'git@127.0.0.1']
  })

  afterAll(() => forge?.stop())

  it('is started again after its end, which cuts its sessions and nothing else', async () => {
    const before = await childrenWith('ssh-program')
    expect(before).toHaveLength(1)
    const session = new LfsSshDriver([...options, 'git-lfs-transfer bob/films.git download'])
    expect(await session.greeting()).toContain('version=1')
    for (const pid of before) process.kill(pid, 'SIGKILL')
    await expect(session.answer()).rejects.toThrow('the session has ended')
    expect((await session.end()).code).toBe(255)
    expect(await forge.ask(forge.users.bob, 'GET', '/repos/bob/films')).toMatchObject({
      name: 'films',
    })
    await expect.poll(async () => (await runSsh(options)).code, WAIT).toBe(0)
    expect(await childrenWith('ssh-program')).not.toEqual(before)
    const lines = forge.server.logged.filter(({ msg }) => msg === 'the SSH program has ended')
    expect(lines).toEqual([expect.objectContaining({ level: 'warn', signal: 'SIGKILL' })])
    const errors = forge.server.logged.filter(({ level }) => level === 'error')
    expect(errors).toEqual([])
  })
})
