import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Forge, startForge } from '../../support/forge.ts'
import { ROOT } from '../../support/markdown.ts'
import { execFile, execFileSync } from '../../support/programs.ts'
import { PASSWORD } from '../../support/server.ts'
import { createSshKey, hasSsh } from '../../support/ssh-client.ts'
import { isLongTier } from '../../support/tier.ts'

const GO_CLIENT = join(ROOT, 'test', 'clients', 'ssh-go')
const JGIT_CLIENT = join(ROOT, 'test', 'clients', 'jgit')
/** With an empty cache, Go and Maven fetch the libraries, and Go compiles them. */
const COMPILE_TIMEOUT_MS = 600_000

// Only a file whose tests run stops its servers after them.
let forge: Forge
let port = ''
let url = ''

/** Returns whether a command of this machine ends, whatever its exit code is. */
function isInstalled(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT')
  }
}

/** Returns whether Python has a package. */
function hasPython(name: string): boolean {
  try {
    execFileSync('python3', ['-c', `import ${name}`])
    return true
  } catch {
    return false
  }
}

/** Clones and pushes by a client that Git starts. */
async function shareBy(folder: string, variant: string, ...command: string[]): Promise<void> {
  const options = ['-c', `core.sshCommand=${command.join(' ')}`, '-c', `ssh.variant=${variant}`]
  await forge.client.git('.', ...options, 'clone', '-q', url, folder)
  const commit = await forge.client.commit(folder, `by ${folder}`)
  await forge.client.git(folder, ...options, 'push', '-q', 'origin', 'HEAD')
  expect(
    (await forge.ask(forge.users.bob, 'GET', '/repos/bob/shared/branches/main')).commit.id,
  ).toBe(commit)
}

/** Runs a script of Python in the folder of the keys, and returns what the script prints. */
async function python(script: string): Promise<string> {
  const { stdout } = await execFile('python3', ['-c', script, port], { cwd: forge.client.home })
  return stdout.trim()
}

describe.skipIf(!hasSsh)('other clients of SSH (each skipped where it is not installed)', () => {
  beforeAll(async () => {
    const listen = { host: '127.0.0.1', port: 0 }
    const ssh = { listen, public: {}, user: 'git', hostKeyFiles: [] }
    forge = await startForge({ ssh })
    port = forge.server.sshAddress?.split(':').at(-1) ?? ''
    url = `ssh://git@127.0.0.1:${port}/bob/shared.git`
    await forge.ask(forge.users.bob, 'POST', '/user/repos', { name: 'shared', auto_init: true })
    for (const [name, ...type] of [
      ['ed', '-t', 'ed25519'],
      ['rsa', '-t', 'rsa', '-b', '2048', '-m', 'PEM'],
    ] as const) {
      const key = await createSshKey(forge.client.home, name, ...type)
      await forge.ask(forge.users.bob, 'POST', '/user/keys', { title: name, key })
    }
  })
  afterAll(() => forge.stop())

  it.skipIf(!isLongTier || !isInstalled('go', 'version'))(
    'golang.org/x/crypto, by each key exchange (in the long tier)',
    async () => {
      const program = join(forge.client.home, 'ssh-go')
      await execFile('go', ['build', '-o', program, '.'], { cwd: GO_CLIENT })
      for (const name of ['ed', 'rsa'])
        await shareBy(`go-${name}`, 'ssh', program, '-i', join(forge.client.home, name))
      const exchanges = ['mlkem768x25519-sha256', 'curve25519-sha256', 'ecdh-sha2-nistp256']
      for (const exchange of exchanges) {
        const command = [program, '-i', join(forge.client.home, 'ed'), '-k', exchange]
        await shareBy(`go-${exchange}`, 'ssh', ...command)
      }
      const old = ['-i', join(forge.client.home, 'ed'), '-k', 'diffie-hellman-group1-sha1']
      await expect(
        execFile(program, [...old, '-p', port, 'git@127.0.0.1', "git-upload-pack 'bob/shared'"]),
      ).rejects.toThrow('no common algorithm for key exchange')
    },
    COMPILE_TIMEOUT_MS,
  )

  it.skipIf(!isLongTier || !isInstalled('mvn', '-v') || !isInstalled('java', '-version'))(
    'JGit, and the same over HTTP (in the long tier)',
    async () => {
      const { home } = forge.client
      const libraries = join(home, 'jgit-libraries')
      const list = ['dependency:build-classpath', `-Dmdep.outputFile=${libraries}`]
      await execFile('mvn', ['-q', '-B', '-f', join(JGIT_CLIENT, 'pom.xml'), ...list])
      const classPath = await readFile(libraries, 'utf8')
      const places = [
        ['jgit-ed', url, join(home, 'ed')],
        ['jgit-rsa', url, join(home, 'rsa')],
        ['jgit-http', `${forge.server.url}/bob/shared.git`, 'bob', PASSWORD],
      ] as const
      for (const [name, remote, ...credentials] of places) {
        const ask = async (path: string) =>
          (await forge.ask(forge.users.bob, 'GET', `/repos/bob/shared${path}`)) as {
            commit: { id: string }
          }
        const { commit: first } = await ask('/branches/main')
        const folder = join(home, name)
        const program = join(JGIT_CLIENT, 'JGitClient.java')
        const { stdout } = await execFile('java', [
          ...['-cp', classPath, program, remote, folder],
          ...credentials,
        ])
        const { commit: last } = await ask('/branches/main')
        const forced = /^forced: (.*)$/m.exec(stdout)?.[1]
        expect(stdout.trim().split('\n')).toEqual([
          `clone: ${first.id}`,
          'shallow commits: 1',
          'push refs/heads/main: OK',
          'push refs/heads/jgit: OK',
          'push refs/tags/by-jgit: OK',
          `pushed: ${last.id}`,
          `fetched: ${last.id}`,
          `tag: ${last.id}`,
          'push refs/heads/jgit: REJECTED_NONFASTFORWARD',
          'push refs/heads/jgit: OK',
          `forced: ${forced}`,
          'push refs/heads/jgit: OK',
        ])
        await forge.client.git(`${name}/one`, 'fsck', '--full', '--strict')
        expect(
          (await forge.rest(forge.users.bob, 'GET', '/repos/bob/shared/branches/jgit')).status,
        ).toBe(404)
        await forge.ask(forge.users.bob, 'DELETE', '/repos/bob/shared/tags/by-jgit')
      }
    },
    COMPILE_TIMEOUT_MS,
  )

  it.skipIf(!isInstalled('dbclient', '-h'))('Dropbear', async () => {
    for (const name of ['ed', 'rsa']) {
      const [from, to] = [
        join(forge.client.home, name),
        join(forge.client.home, `${name}.dropbear`),
      ]
      await execFile('dropbearconvert', ['openssh', 'dropbear', from, to])
      // `-y -y`: without a check of the host key.
      await shareBy(`dropbear-${name}`, 'ssh', 'dbclient', '-y', '-y', '-T', '-i', to)
    }
  })

  it.skipIf(!isInstalled('plink', '-V'))('PuTTY', async () => {
    const { keys } = await forge.ask(undefined, 'GET', '/meta/ssh-host-keys')
    for (const name of ['ed', 'rsa']) {
      const [from, to] = [join(forge.client.home, name), join(forge.client.home, `${name}.ppk`)]
      await execFile('puttygen', [from, '-o', to])
      const known = ['-hostkey', keys[0].fingerprint]
      await shareBy(`putty-${name}`, 'plink', 'plink', '-batch', ...known, '-i', to)
    }
  })

  it.skipIf(!hasPython('paramiko'))('Paramiko', async () => {
    const shown = await python(`
import paramiko, sys
for name, kind in (('ed', paramiko.Ed25519Key), ('rsa', paramiko.RSAKey)):
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    key = kind.from_private_key_file(name)
    client.connect('127.0.0.1', int(sys.argv[1]), 'git', pkey=key, allow_agent=False, look_for_keys=False)
    stdin, stdout, stderr = client.exec_command("git-upload-pack 'bob/shared'")
    stdin.write('0000')
    stdin.channel.shutdown_write()
    print(b'refs/heads/main' in stdout.read(), stdout.channel.recv_exit_status())
    client.close()
`)
    expect(shown).toBe('True 0\nTrue 0')
  })

  it.skipIf(!hasPython('paramiko'))(
    'that opens too many sessions learns why (Paramiko)',
    async () => {
      const shown = await python(`
import paramiko, sys
transport = paramiko.Transport(('127.0.0.1', int(sys.argv[1])))
transport.connect(username='git', pkey=paramiko.Ed25519Key.from_private_key_file('ed'))
sessions = [transport.open_session() for _ in range(16)]
try:
    transport.open_session()
except paramiko.ChannelException as error:
    print(error.code)
transport.close()
`)
      expect(shown).toBe('4')
    },
  )

  it.skipIf(!hasPython('asyncssh'))('AsyncSSH', async () => {
    const shown = await python(`
import asyncio, asyncssh, sys
async def main():
    options = dict(username='git', client_keys=['ed'], known_hosts=None)
    async with asyncssh.connect('127.0.0.1', int(sys.argv[1]), **options) as connection:
        result = await connection.run("git-upload-pack 'bob/shared'", input='0000')
        print('refs/heads/main' in result.stdout, result.exit_status)
        print((await connection.run()).exit_status)
asyncio.run(main())
`)
    expect(shown).toBe('True 0\n0')
  })

  it.skipIf(!hasPython('pygit2'))('libgit2', async () => {
    const shown = await python(`
import pygit2, sys
class Callbacks(pygit2.RemoteCallbacks):
    def credentials(self, *_):
        return pygit2.Keypair('git', 'ed.pub', 'ed', '')
    def certificate_check(self, *_):
        return True
url = f'ssh://git@127.0.0.1:{sys.argv[1]}/bob/shared.git'
clone = pygit2.clone_repository(url, 'libgit2', callbacks=Callbacks())
signer = pygit2.Signature('a', 'a@example.org')
head = clone.head
commit = clone.create_commit('HEAD', signer, signer, 'by libgit2', head.peel().tree.id, [head.target])
clone.remotes['origin'].push([clone.head.name], callbacks=Callbacks())
print(commit)
`)
    expect(
      (await forge.ask(forge.users.bob, 'GET', '/repos/bob/shared/branches/main')).commit.id,
    ).toBe(shown)
    const file = await readFile(join(forge.client.home, 'libgit2', 'README.md'), 'utf8')
    expect(file).toContain('shared')
  })
})
