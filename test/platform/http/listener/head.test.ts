import { once } from 'node:events'
import { expect, it } from 'vitest'
import { useListeners } from './fixture.ts'

const { start, connectHttp2 } = useListeners()

it('a large response to HEAD over HTTP/2 ends, so that it no longer counts as pending', async () => {
  let isClosed = () => {}
  const closed = new Promise<void>((resolve) => {
    isClosed = resolve
  })
  const { url } = await start({
    handler(_, response) {
      response.once('close', () => isClosed())
      response.end(Buffer.alloc(400_000).toString())
    },
  })
  const stream = connectHttp2(url).request({ ':path': '/', ':method': 'HEAD' })
  await once(stream, 'response')
  stream.resume()
  await closed
  expect(stream.rstCode).toBe(0)
})
