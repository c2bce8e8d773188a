import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { type ServerProcess, serveProcess, withFolder } from '../../support/process.ts'
import { createTestUsers, startTestServer, transportTo } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'
import { watchEvents } from '../../support/watch.ts'

/** Lives of the server, each ended by SIGKILL. */
const LIVES = isLongTier ? 4 : 2

/** Servers start one after the other, which takes a minute or two on a busy machine. */
const TIMEOUT_MS = 300_000

describe('a stream of events', () => {
  it('contains every memo once and in order, even when the server is repeatedly killed', {
    timeout: TIMEOUT_MS,
  }, async () => {
    await withFolder(async (data) => {
      const received: string[] = []
      /** By writer, in the order of the writes. */
      const acknowledged: [string[], string[]] = [[], []]
      const first = await startTestServer({ data })
      const { authorization } = (await createTestUsers(first.url)).ada
      await first.stop()

      let cursor = ''
      for (let life = 1; life <= LIVES; life++) {
        const server = await serveProcess(data)
        const watcher = watchEvents(server.url, 'REST', authorization, { cursor })
        cursor = (await watcher.next()).cursor
        const writing = writeUntilRefused(server, authorization, acknowledged)
        for (const wanted = received.length + 25; received.length < wanted; ) {
          const answer = await watcher.next()
          cursor = answer.cursor
          if (answer.event) received.push(answer.event.resource)
        }
        server.child.kill('SIGKILL')
        await server.exited
        await writing
        watcher.leave()
      }

      const last = await startTestServer({ data })
      const made = await memosOf(last.url, authorization)
      const watcher = watchEvents(last.url, 'REST', authorization, { cursor })
      while (received.length < made.length) {
        const { event } = await watcher.next()
        if (event) received.push(event.resource)
      }
      watcher.leave()
      expect(received.toSorted()).toEqual(made.toSorted())
      // Two writes at the same time have no order.
      for (const names of acknowledged)
        expect(received.filter((name) => names.includes(name))).toEqual(names)
      await last.stop()
    })
  })
})

/** Creates memos, two at a time, until the server is gone. */
async function writeUntilRefused(
  { url }: ServerProcess,
  authorization: string,
  acknowledged: readonly string[][],
): Promise<void> {
  const memos = createClient(MemoService, transportTo(url, 'Connect JSON', authorization))
  const write = async (names: string[]) => {
    for (;;) names.push((await memos.createMemo({ memo: { content: 'a thought' } })).name)
  }
  await Promise.allSettled(acknowledged.map(write))
}

/** Returns the names of all memos. */
async function memosOf(url: string, authorization: string): Promise<string[]> {
  const memos = createClient(MemoService, transportTo(url, 'Connect JSON', authorization))
  const names: string[] = []
  let pageToken = ''
  do {
    const page = await memos.listMemos({ pageSize: 1000, pageToken })
    names.push(...page.memos.map(({ name }) => name))
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return names
}
