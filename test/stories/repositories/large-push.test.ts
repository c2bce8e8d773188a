import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { type ServerProcess, serveUnderLoad, withFolder } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

const MIB = 2 ** 20

/** As random bytes, which do not compress. */
const PUSH_BYTES = (isLongTier ? 200 : 120) * MIB

/** Less than the push: what is on its way is in pipes and in git, not in the server. */
const MAX_GROWTH_BYTES = 100 * MIB

/** Ten seconds on an idle machine. */
const TIMEOUT_MS = 300_000

describe('a large push', () => {
  let client: GitClient

  beforeAll(async () => {
    client = await openGitClient()
  })
  afterAll(() => client.remove())

  it(
    'arrives whole through a server that does not hold it, and comes back the same',
    async () => {
      await withFolder(async (data) => {
        const server = await serveUnderLoad(data)
        const { bob } = await createTestUsers(server.url)
        await restAt(server.url)(bob, 'POST', '/user/repos', { name: 'large' })
        const remote = remoteOf(server.url, 'bob/large', 'bob', PASSWORD)
        await client.git('.', 'clone', '-q', remote, 'mine')
        for (const half of [1, 2])
          await writeFile(`${client.home}/mine/half${half}.bin`, randomBytes(PUSH_BYTES / 2))
        await client.git('mine', 'add', '.')
        await client.git('mine', '-c', 'core.compression=0', 'commit', '-q', '-m', 'large')

        const before = peakBytesOf(server)
        await client.git('mine', '-c', 'core.compression=0', 'push', '-q', 'origin', 'HEAD:main')
        expect(peakBytesOf(server) - before).toBeLessThan(MAX_GROWTH_BYTES)
        await client.git('.', 'clone', '-q', remote, 'again')
        expect(await client.git('again', 'rev-parse', 'HEAD')).toBe(
          await client.git('mine', 'rev-parse', 'HEAD'),
        )
        server.child.kill('SIGTERM')
        expect(await server.exited).toBe(0)
        await client.git('.', '-C', `${data}/repositories/01/1.git`, 'fsck', '--full', '--strict')
      })
    },
    TIMEOUT_MS,
  )
})

/** Most memory that a process has had in RAM so far (proc_pid_status(5)). */
function peakBytesOf({ child }: ServerProcess): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(
    readFileSync(`/proc/${child.pid}/status`, 'utf8'),
  )?.[1]
  return Number(kibibytes) * 1024
}
