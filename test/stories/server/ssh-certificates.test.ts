import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import { execFileSync } from '../../support/programs.ts'
import { startTestServer } from '../../support/server.ts'
import { createSshKey, hasSsh, runSsh, sshOptions } from '../../support/ssh-client.ts'

const SSH = { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] }

const folder = await mkdtemp(join(tmpdir(), 'branchline-certificates-'))
afterAll(() => rm(folder, { recursive: true }))

const userAuthoritiesFile = join(folder, 'authorities')
const revokedKeysFile = join(folder, 'revoked')
if (hasSsh) {
  const authorities = [await createSshKey(folder, 'ca'), await createSshKey(folder, 'lost-ca')]
  const rsa = await createSshKey(folder, 'rsa-ca', '-t', 'rsa', '-b', '2048')
  await writeFile(userAuthoritiesFile, `# of this instance\n${[...authorities, rsa].join('\n')}\n`)
  await createSshKey(folder, 'foreign-ca')
} else await writeFile(userAuthoritiesFile, '')
await writeFile(revokedKeysFile, '')

const { ask, server, users, client } = await openForge({
  ssh: { ...SSH, userAuthoritiesFile, revokedKeysFile },
})
const port = server.sshAddress?.split(':').at(-1) ?? ''

let last = 0

/** Makes a key with a certificate, and returns the name of its file. */
async function certify(
  options: readonly string[],
  { authority = 'ca', type = [] }: { authority?: string; type?: readonly string[] } = {},
): Promise<string> {
  last += 1
  const name = `key-${last}`
  await createSshKey(folder, name, ...type)
  const signing = ['-q', '-s', join(folder, authority), '-I', name, '-z', String(last)]
  execFileSync('ssh-keygen', [...signing, ...options, join(folder, `${name}.pub`)])
  return name
}

const connect = (name: string, ...command: string[]) =>
  runSsh([...sshOptions(folder, name), '-p', port, 'git@127.0.0.1', ...command])

const BOB = ['-n', 'bob']

describe.skipIf(!hasSsh)('certificates (skipped where ssh is not installed)', () => {
  it.each([
    ['Ed25519', []],
    ['ECDSA', ['-t', 'ecdsa', '-b', '384']],
    ['RSA', ['-t', 'rsa', '-b', '2048']],
  ])('sign in with keys of type %s', async (_, type) => {
    const name = await certify([...BOB, '-V', '-1h:+1h'], { type })
    expect(await connect(name)).toEqual({
      code: 0,
      stdout: '',
      stderr: `Hi bob! You've successfully authenticated with the certificate named ${name}, but Branchline does not provide shell access.\n`,
    })
  })

  it('fetch and push with the rights of the account, and are logged', async () => {
    await ask(users.bob, 'POST', '/user/repos', {
      name: 'certified',
      private: true,
      auto_init: true,
    })
    const name = await certify(BOB, { authority: 'rsa-ca' })
    const command = ['ssh', ...sshOptions(folder, name)].join(' ')
    const url = `ssh://git@127.0.0.1:${port}/bob/certified.git`
    await client.git('.', '-c', `core.sshCommand=${command}`, 'clone', '-q', url, 'certified')
    const commit = await client.commit('certified', 'by a certificate')
    await client.git(
      'certified',
      '-c',
      `core.sshCommand=${command}`,
      'push',
      '-q',
      'origin',
      'HEAD',
    )
    expect((await ask(users.bob, 'GET', '/repos/bob/certified/branches/main')).commit.id).toBe(
      commit,
    )
    const logged = () => server.logged.findLast((line) => line.ssh === 'git-receive-pack')
    await expect.poll(logged).toMatchObject({
      certificate: { name, serial: String(last), authority: expect.stringMatching(/^SHA256:/) },
    })
    const carol = await certify(['-n', 'carol'])
    const { stderr } = await connect(carol, "git-upload-pack 'bob/certified'")
    expect(stderr).toBe('Branchline: Repository not found.\n')
  })

  it.each([
    ['one of another authority', BOB, 'foreign-ca'],
    ['an expired one', [...BOB, '-V', '-2h:-1h'], 'ca'],
    ['one of the future', [...BOB, '-V', '+1h:+2h'], 'ca'],
    ['one of a stranger', ['-n', 'nobody'], 'ca'],
    ['one in other letters', ['-n', 'Bob'], 'ca'],
    ['one without principals', [], 'ca'],
    ['one for hosts', ['-h', ...BOB], 'ca'],
    ['one for another address', [...BOB, '-O', 'source-address=10.0.0.0/8,::1'], 'ca'],
    ['one with a command', [...BOB, '-O', 'force-command=ls'], 'ca'],
    ['one with an unknown option', [...BOB, '-O', 'critical:x@example.org=1'], 'ca'],
  ])('do not sign in: %s', async (_, options, authority) => {
    const { code, stderr } = await connect(await certify(options, { authority }))
    expect([code, stderr]).toEqual([255, expect.stringContaining('Permission denied (publickey)')])
  })

  it('count from the addresses that they name', async () => {
    const name = await certify([...BOB, '-O', 'source-address=10.0.0.0/8,127.0.0.0/8'])
    expect((await connect(name)).code).toBe(0)
  })

  it('are revoked by serial number, by key and by authority', async () => {
    const name = await certify(BOB)
    const other = await certify(BOB, { authority: 'lost-ca' })
    const plain = await readFile(join(folder, `${name}.pub`), 'utf8')
    const certificate = await readFile(join(folder, `${name}-cert.pub`), 'utf8')
    const authority = await readFile(join(folder, 'lost-ca.pub'), 'utf8')
    for (const [line, revoked, left] of [
      [`serial:${last - 1}\n`, name, other],
      [plain, name, other],
      [certificate, name, other],
      [authority, other, name],
    ] as const) {
      await writeFile(revokedKeysFile, line)
      expect((await connect(revoked)).code, line).toBe(255)
      expect((await connect(left)).code, line).toBe(0)
    }
    await writeFile(revokedKeysFile, '')
  })

  it('do not count as their key, nor the key as its certificate', async () => {
    const [mine, foreign] = [await certify(BOB), await certify(BOB)]
    await copyFile(join(folder, `${mine}-cert.pub`), join(folder, `${foreign}-cert.pub`))
    expect((await connect(foreign)).code).not.toBe(0)
    await rm(join(folder, `${mine}-cert.pub`))
    expect((await connect(mine)).code).toBe(255)
  })

  it('are among the algorithms that the server lists', async () => {
    const name = await certify(BOB)
    const { stderr } = await runSsh([
      ...sshOptions(folder, name, 'DEBUG2'),
      ...['-p', port, 'git@127.0.0.1'],
    ])
    expect(stderr).toMatch(
      /server-sig-algs=<.*,ssh-ed25519-cert-v01@openssh\.com,.*,rsa-sha2-512-cert-v01@openssh\.com,/,
    )
  })

  it('need a file with keys', async () => {
    const file = join(folder, 'wrong')
    const start = () => startTestServer({ ssh: { ...SSH, userAuthoritiesFile: file } })
    await expect(start()).rejects.toThrow(/SSH user authorities .* cannot be read: ENOENT/)
    await certify(BOB)
    await copyFile(join(folder, `key-${last}-cert.pub`), file)
    await expect(start()).rejects.toThrow(/SSH user authorities .* no public key in line 1/)
  })
})
