import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startForge } from '../../support/forge.ts'
import { freePort } from '../../support/free-port.ts'
import { branchline, MAIN } from '../../support/process.ts'
import { execFileSync } from '../../support/programs.ts'
import { createSshKey, hasSsh, runSsh, sshOptions } from '../../support/ssh-client.ts'

const sshd = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  .map((folder) => join(folder, 'sshd'))
  .find((path) => existsSync(path))

/** Whether `sshd` can run: as root it needs an account of its own. */
const canServe = sshd !== undefined && hasSsh && (process.getuid?.() !== 0 || hasSshdUser())

function hasSshdUser(): boolean {
  try {
    execFileSync('id', ['sshd'])
    return existsSync('/run/sshd')
  } catch {
    return false
  }
}

/** Starts `sshd` with the configuration of the documents, as the user of this process. */
async function startSshd(folder: string, data: string, port: number) {
  await createSshKey(folder, 'sshd_host')
  const user = execFileSync('id', ['-un'], { encoding: 'utf8' }).trim()
  const command = [process.execPath, MAIN, 'ssh-authorized-keys', '--data', data, '%u', '%t', '%k']
  const configuration = join(folder, 'sshd_config')
  await writeFile(
    configuration,
    `ListenAddress 127.0.0.1:${port}
HostKey ${join(folder, 'sshd_host')}
PidFile none
PermitRootLogin yes
AuthenticationMethods publickey
AuthorizedKeysFile none
AuthorizedKeysCommand ${command.join(' ')}
AuthorizedKeysCommandUser ${user}
AcceptEnv GIT_PROTOCOL
`,
  )
  const child = spawn(sshd ?? '', ['-D', '-e', '-f', configuration], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  await expect.poll(() => said).toContain('Server listening')
  return {
    user,
    async stop() {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}

describe.skipIf(!canServe)('the sshd of OpenSSH (skipped where sshd is not installed)', () => {
  it('serves Git with the keys of the server, and nothing without the server', async () => {
    const port = await freePort()
    const { ask, client, server, users, stop } = await startForge({
      ssh: { listen: 'sshd', public: { host: '127.0.0.1', port }, user: 'git', hostKeyFiles: [] },
    })
    const { data } = server
    expect(server.sshAddress).toBeUndefined()
    expect((await stat(join(data, 'ssh', 'serve.sock'))).mode & 0o777).toBe(0o600)
    const daemon = await startSshd(client.home, data, port)
    const [key, deploy] = [
      await createSshKey(client.home, 'key'),
      await createSshKey(client.home, 'deploy'),
    ]
    await ask(users.bob, 'POST', '/user/repos', { name: 'served', auto_init: true, private: true })
    const { id } = await ask(users.bob, 'POST', '/user/keys', { title: 'mine', key })
    await ask(users.bob, 'POST', '/repos/bob/served/keys', {
      title: 'ci',
      key: deploy,
      read_only: true,
    })
    expect((await ask(users.bob, 'GET', '/repos/bob/served')).ssh_url).toBe(
      `ssh://git@127.0.0.1:${port}/bob/served.git`,
    )
    const ssh = (name: string, ...command: string[]) => {
      const options = [...sshOptions(client.home, name), '-p', String(port)]
      return runSsh([...options, `${daemon.user}@127.0.0.1`, ...command])
    }
    expect((await ssh('key')).stderr).toContain(`Hi bob! You've successfully authenticated`)
    const url = `ssh://${daemon.user}@127.0.0.1:${port}/bob/served.git`
    const git = (name: string, where: string, ...args: string[]) => {
      const command = ['ssh', ...sshOptions(client.home, name)].join(' ')
      return client.git(where, '-c', `core.sshCommand=${command}`, ...args)
    }
    await git('key', '.', 'clone', '-q', url, 'served')
    const commit = await client.commit('served', 'by sshd')
    await git('key', 'served', 'push', '-q', 'origin', 'HEAD')
    expect(await git('deploy', '.', 'ls-remote', url)).toContain(commit)
    expect(await ssh('deploy', "git-receive-pack 'bob/served'")).toMatchObject({
      code: 1,
      stderr: 'Branchline: this deploy key is read-only\n',
    })
    const logged = server.logged.find((line) => line.ssh === 'git-receive-pack')
    expect(logged).toMatchObject({ client: 'sshd', peer: '127.0.0.1', key: id })

    const [type = '', blob = ''] = key.split(' ')
    const line = ['ssh-authorized-keys', '--data', data, 'git', type, blob]
    expect((await branchline(line)).stdout).toMatch(
      /^restrict,command=".* ssh-serve --data .* key-\d+" ssh-ed25519 AAAA\S+\n$/,
    )
    const [, unknown = ''] = (await createSshKey(client.home, 'unknown')).split(' ')
    const other = await branchline([...line.slice(0, -1), unknown])
    expect(other).toEqual({ code: 0, stdout: '', stderr: '' })
    await ask(users.bob, 'DELETE', `/user/keys/${id}`)
    expect((await branchline(line)).stdout).toBe('')
    await stop()
    const failed = { code: 75, stdout: '', stderr: 'Branchline: the server is not running\n' }
    expect(await branchline(line)).toEqual(failed)
    expect(await branchline(['ssh-serve', '--data', data, `key-${id}`])).toEqual(failed)
    await daemon.stop()
  })
})
