import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../setup/child-process.mjs'
import { Failure } from '../setup/progress.mjs'

/** The password of every account. */
export const PASSWORD = 'correct horse battery'

/**
 * A server for one client, with its accounts.
 * @typedef {object} ClientServer
 * @property {string} url
 * @property {Readonly<Record<string, string>>} tokens a token with all scopes, by username
 * @property {() => Promise<void>} stop stops the server and removes its data
 */

/**
 * Starts `dist/main.js` on a new data folder and a free port.
 * @param {readonly { username: string, email: string }[]} accounts the first one administers
 * @param {{ tokenName?: string, options?: readonly string[] }} [special] the name of the tokens, and
 *   options of `serve`
 * @returns {Promise<ClientServer>}
 */
export async function startClientServer(accounts, { tokenName = 'clients', options = [] } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-clients-'))
  const args = [
    ...['--data', join(folder, 'data'), '--mail-dir', join(folder, 'mail')],
    ...['--listen', '127.0.0.1:0', '--git-hooks', 'on'],
    ...['--webhook-allowed-hosts', '127.0.0.1,localhost', '--log-level', 'error'],
    ...options,
  ]
  const child = spawn(process.execPath, [join(root, 'dist/main.js'), 'serve', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const url = await readyUrl(child.stdout)
    return { url, tokens: await createAccounts(url, accounts, tokenName), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @param {import('node:stream').Readable} output */
async function readyUrl(output) {
  for await (const line of createInterface(output)) {
    const url = /^branchline listening on (\S+)$/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Failure('The server ended before it was ready.')
}

/**
 * Creates the accounts of a new server, all with the same password, and a token of each.
 * @param {string} url
 * @param {readonly { username: string, email: string }[]} accounts the first one administers
 * @param {string} tokenName
 * @returns {Promise<Record<string, string>>} the tokens, with all scopes, by username
 */
export async function createAccounts(url, accounts, tokenName) {
  /** @type {Record<string, string>} */
  const tokens = {}
  let authorization = {}
  for (const { username, email } of accounts) {
    const user = { username, email, password: PASSWORD, role: 'USER' }
    await post(`${url}/branchline.v1.UserService/CreateUser`, { user }, authorization)
    const basic = { authorization: `Basic ${btoa(`${username}:${PASSWORD}`)}` }
    const draft = { name: tokenName, scopes: ['all'] }
    const { sha1 } = await post(`${url}/api/v1/users/${username}/tokens`, draft, basic)
    tokens[username] = sha1
    // The first account administers the server, and creates the others.
    if (!('authorization' in authorization)) authorization = { authorization: `token ${sha1}` }
  }
  return tokens
}

/**
 * @param {string} url
 * @param {object} body
 * @param {Record<string, string>} headers
 */
async function post(url, body, headers) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Failure(`POST ${url} was answered by ${response.status}.`, text)
  return JSON.parse(text)
}
