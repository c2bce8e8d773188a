import { describe, expect, it } from 'vitest'
import { branchline, serveProcess, withFolder } from '../../support/process.ts'
import { createTestUsers, createToken, PASSWORD, signIn } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/** A fault that ends one start in five shows itself in 20 starts with a probability of 99 percent. */
const STARTS = isLongTier ? 20 : 3

/** A start and a stop take about a second on an idle machine. */
const TIMEOUT_MS = 300_000

describe(`a server on Node ${process.versions.node}`, () => {
  it(
    `starts, serves and stops ${STARTS} times on one data folder`,
    () =>
      withFolder(async (data) => {
        for (let start = 0; start < STARTS; start++) {
          const { url, child, exited } = await serveProcess(data)
          if (start === 0) await createTestUsers(url)
          const bob = await signIn(url, 'bob', PASSWORD)
          await createToken(url, bob, ['read:user'])
          child.kill('SIGTERM')
          expect(await exited).toBe(0)
        }
      }),
    TIMEOUT_MS,
  )
})

describe('the version of Node', () => {
  /** Makes the program believe in another version, and tells of each addon that it loads. */
  const pretend = (version: string) => {
    const preload = `
      Object.defineProperty(process, 'version', { value: '${version}' })
      const { dlopen } = process
      process.dlopen = (...args) => { process.stderr.write('an addon is loaded\\n'); return dlopen.apply(process, args) }`
    return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}` }
  }

  it('is refused with one sentence if it is too old, before an addon is loaded', async () => {
    const { code, stdout, stderr } = await branchline(['version'], { env: pretend('v20.18.3') })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^branchline: Node 20\.18\.3 is too old: install Node 20\.19 .*\n$/)
  })

  it('causes a warning if it is untested, and the program continues', () =>
    withFolder(async (data) => {
      const env = pretend('v25.1.0')
      const { code, stdout, stderr } = await branchline(['migrate', '--data', data], { env })
      expect(code).toBe(0)
      expect(stdout).toContain('version ')
      expect(stderr).toMatch(
        /^branchline: warning: Node 25\.1\.0 is not tested: .*\nan addon is loaded\n/,
      )
    }))
})
