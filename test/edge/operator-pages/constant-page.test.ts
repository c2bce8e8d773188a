import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { constantPage } from '../../../src/edge/operator-pages/constant-page.ts'

it('a page whose creation failed is created again for the next request', async () => {
  let attempts = 0
  const page = constantPage('text/plain', () => {
    attempts += 1
    if (attempts === 1) throw new Error('no memory')
    return 'content'
  })
  const server = createServer((request, response) => {
    page(request, response).catch(() => response.writeHead(500).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const ask = () => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  expect((await ask()).status).toBe(500)
  expect(await (await ask()).text()).toBe('content')
  expect(await (await ask()).text()).toBe('content')
  expect(attempts).toBe(2)
})
