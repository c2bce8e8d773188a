import { expect, it } from 'vitest'
import { FetchRequests } from '../../../src/edge/git-ssh/fetch-requests.ts'

const packet = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`

const REFS = `${packet('command=ls-refs\n')}0001${packet('peel\n')}0000`
const FETCH = `${packet('command=fetch')}0001${packet('done\n')}0000`

/** Reads all requests of an input that arrives in pieces. */
async function requestsOf(input: string, pieceBytes: number): Promise<string[]> {
  async function* pieces() {
    for (let at = 0; at < input.length; at += pieceBytes)
      yield Buffer.from(input.slice(at, at + pieceBytes))
  }
  const requests = new FetchRequests(pieces())
  const found: string[] = []
  while (await requests.hasNext()) {
    let request = ''
    for await (const part of requests.next()) request += part
    found.push(request)
  }
  return found
}

it.each([1, 2, 3, 5, 16, 1000])('divides an input in pieces of %d bytes', async (pieceBytes) => {
  expect(await requestsOf('', pieceBytes)).toEqual([])
  expect(await requestsOf(REFS + FETCH, pieceBytes)).toEqual([REFS, FETCH])
  // A flush packet ends the input, whatever follows.
  expect(await requestsOf(`${REFS}0000${FETCH}`, pieceBytes)).toEqual([REFS])
  expect(await requestsOf(`${REFS}00`, pieceBytes)).toEqual([REFS])
  const cut = FETCH.slice(0, -6)
  expect(await requestsOf(REFS + cut, pieceBytes)).toEqual([REFS, cut])
  const wrong = `zzzz0003${REFS}`
  expect(await requestsOf(wrong + FETCH, pieceBytes)).toEqual([wrong, FETCH])
})
