import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import {
  startWoodpecker,
  type WoodpeckerServer,
  woodpeckerObstacle,
} from '../../support/woodpecker-server.ts'

/** Fails for a commit that has both files. */
const PIPELINE = `skip_clone: true
steps:
  test:
    image: bash
    commands:
      - git init -q .
      - git fetch -q "$CI_REPO_CLONE_URL" "$CI_COMMIT_REF"
      - git checkout -q "$CI_COMMIT_SHA"
      - test ! -e left.txt -o ! -e right.txt
`

/** What Woodpecker calls its statuses. */
const OF_HEADS = 'ci/woodpecker/pr/woodpecker'
const OF_PUSHES = 'ci/woodpecker/push/woodpecker'

const RULE = {
  rule_name: 'main',
  enable_status_check: true,
  status_check_contexts: [OF_HEADS, OF_PUSHES],
  enable_merge_queue: true,
  merge_queue_head_contexts: [OF_HEADS],
  merge_queue_only_contexts: [OF_PUSHES],
  merge_queue_wait_seconds: 1,
}

/** A pipeline starts several programs. */
const PATIENCE = { timeout: 120_000, interval: 200 }

const obstacle = woodpeckerObstacle()
const TITLE = 'a merge queue whose checks Woodpecker runs'

describe.skipIf(obstacle)(obstacle ? `${TITLE} (skipped: ${obstacle})` : TITLE, () => {
  let forge: Forge
  let woodpecker: WoodpeckerServer
  const path = '/repos/bob/engine'

  beforeAll(async () => {
    forge = await startForge({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
    woodpecker = await startWoodpecker(forge)
  })
  afterAll(async () => {
    await woodpecker?.stop()
    await forge?.stop()
  })

  const ask = (method: string, what: string, body?: object) =>
    forge.ask(forge.users.bob, method, `${path}${what}`, body)

  const write = (file: string, text: string, branch: string) => {
    const content = Buffer.from(text).toString('base64')
    return ask('POST', `/contents/${file}`, {
      content,
      branch: 'main',
      ...(branch !== 'main' && { new_branch: branch }),
    })
  }

  /** Opens a pull request that adds a file, and returns its head. */
  async function open(name: string): Promise<string> {
    await write(`${name}.txt`, name, name)
    const { head } = await ask('POST', '/pulls', { head: name, base: 'main', title: name })
    return head.sha
  }

  const stateOf = async (commit: string) => (await ask('GET', `/commits/${commit}/status`)).state
  const entryOf = (number: number) => ask('GET', `/pulls/${number}/merge_queue`)

  it('merges what passes together, and leaves out what passes only alone', async () => {
    const { id } = await forge.ask(forge.users.bob, 'POST', '/user/repos', {
      name: 'engine',
      auto_init: true,
      default_branch: 'main',
    })
    await write('.woodpecker.yml', PIPELINE, 'main')
    await woodpecker.enable(forge.users.bob, id)
    const [hook] = await ask('GET', '/hooks')
    await ask('PATCH', `/hooks/${hook.id}`, { branch_filter: '{*,queue/**}' })
    await ask('POST', '/branch_protections', RULE)
    const heads = [await open('left'), await open('right'), await open('other')]
    for (const head of heads) await expect.poll(() => stateOf(head), PATIENCE).toBe('success')
    for (const number of [1, 2, 3]) await ask('POST', `/pulls/${number}/merge_queue`, {})
    await expect.poll(async () => (await entryOf(3)).state, PATIENCE).toBe('MERGED')
    expect((await entryOf(1)).state).toBe('MERGED')
    expect(await entryOf(2)).toMatchObject({
      state: 'FAILED',
      reason: { code: 'CHECKS_FAILED', contexts: [OF_PUSHES] },
    })
    const files = await ask('GET', '/contents')
    expect(files.map(({ name }: { name: string }) => name)).toEqual([
      '.woodpecker.yml',
      'README.md',
      'left.txt',
      'other.txt',
    ])
    // The merge is a push to main, too, for which Woodpecker runs the pipeline once more.
    const { commit } = await ask('GET', '/branches/main')
    await expect.poll(() => stateOf(commit.id), PATIENCE).toBe('success')
  })
})
