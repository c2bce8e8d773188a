import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../../scripts/setup/child-process.mjs'

const module = new URL('../../scripts/setup/child-process.mjs', import.meta.url).href

describe('run', () => {
  it('joins both outputs and gives nothing to read', async () => {
    expect(await run('sh', ['-c', 'echo out; echo err >&2; cat'])).toEqual({
      code: 0,
      output: 'out\nerr\n',
    })
  })

  it.each([
    ['the exit code of the command', 'sh', ['-c', 'exit 7'], 7],
    ['null after a signal', 'sh', ['-c', 'kill -KILL $$'], null],
    ['127 when there is no such command', 'no-such-command', [], 127],
  ])('gives %s', async (_, command, args, code) => {
    expect(await run(command, args)).toMatchObject({ code })
  })

  it('hands arguments over as they are', async () => {
    expect(await run('printf', ['%s|', 'a b', '$HOME', "'"])).toEqual({
      code: 0,
      output: "a b|$HOME|'|",
    })
  })

  it('finds the binaries of the project', async () => {
    expect(await run('tsc', ['--version'])).toMatchObject({ code: 0 })
  })
})

describe('a command whose parent ends', () => {
  const server = createServer()
  let port: number
  beforeEach(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const address = server.address()
    port = typeof address === 'object' && address ? address.port : 0
  })
  afterEach(() => server.close())

  // A grandchild holds a connection open: its end is seen here as the end of the connection.
  const holder = `require('node:net').connect(+process.argv[1], '127.0.0.1').resume()`
  const runner = `import(process.argv[1]).then(({ run }) => run('sh', ['-c', '"$0" -e "$1" "$2"; true', ...process.argv.slice(2)]))`

  it.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
    'by %s ends too, with its children',
    async (signal) => {
      const parent = spawn(process.execPath, [
        '-e',
        runner,
        module,
        process.execPath,
        holder,
        String(port),
      ])
      const [connection] = await once(server, 'connection')
      connection.resume().on('error', () => {})
      parent.kill(signal)
      const [[, endedBy]] = await Promise.all([once(parent, 'exit'), once(connection, 'close')])
      expect(endedBy).toBe(signal)
    },
  )
})
