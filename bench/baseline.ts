import http, { type IncomingMessage, type RequestListener } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Sqlite } from '../src/platform/database/sqlite.ts'
import { SELECT_USER, type UserRow } from './user-row.ts'

/**
 * The baseline of REST: a minimal hand-written server with the same responses. It parses the path,
 * reads the row by a prepared statement and prints JSON, without callers, errors and a log.
 *
 * Arguments: `http` or `http2`, the database file, and the base of links.
 */
const [version, database, base] = process.argv.slice(2)
if (database === undefined || base === undefined)
  throw new Error('usage: baseline http|http2 <database> <base>')

const sqlite = new Sqlite(database, { readonly: true })
const readUser = sqlite.prepare<[string], UserRow>(`${SELECT_USER} where name_key = ?`)
const readUsers = sqlite.prepare<string[], UserRow>(
  `${SELECT_USER} where name_key in (${Array(100).fill('?').join(', ')})`,
)

const PREFIX = '/api/v1/users/'
const BATCH_PATH = '/api/v1/users:batchGet'

const answer: RequestListener = async (request, response) => {
  const { method, url = '' } = request
  const question = url.indexOf('?')
  const path = question < 0 ? url : url.slice(0, question)
  let value: unknown
  if (method === 'GET' && path.startsWith(PREFIX)) {
    const row = readUser.get(decodeURIComponent(path.slice(PREFIX.length)).toLowerCase())
    value = row && userOf(row)
  } else if (method === 'POST' && path === BATCH_PATH) {
    value = usersNamed(JSON.parse(await readText(request)).usernames)
  }
  const text = JSON.stringify(value ?? { code: 5 })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  response.writeHead(value === undefined ? 404 : 200, headers)
  response.end(text)
}

function usersNamed(usernames: readonly string[]): { users: unknown[] } {
  const keys = usernames.map((username) => username.toLowerCase())
  const active = readUsers.all(...keys).filter(({ state }) => state === 'NORMAL')
  const rows = new Map(active.map((row) => [row.username.toLowerCase(), row]))
  return {
    users: keys.flatMap((key) => {
      const row = rows.get(key)
      return row ? [userOf(row)] : []
    }),
  }
}

function userOf(row: UserRow) {
  return {
    name: `users/${row.name}`,
    role: row.role,
    username: row.username,
    email: '',
    displayName: row.display_name,
    avatarUrl: row.avatar_url,
    description: row.description,
    state: row.state,
    createTime: timeText(row.create_time),
    updateTime: timeText(row.update_time),
    id: row.id,
    login: row.username,
    full_name: row.display_name,
    html_url: `${base}/${row.username}`,
    created: timeText(row.create_time),
  }
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

// The compatibility API of node:http2 has all members of requests and responses that are used
// above.
const server =
  version === 'http2'
    ? http2.createServer(answer as unknown as Http2Listener)
    : http.createServer(answer)
type Http2Listener = Parameters<typeof http2.createServer>[1]
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
