import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type SelfSigned, selfSigned } from '../clients/certificate.ts'
import { freePort } from './free-port.ts'
import { readPage } from './markdown.ts'

/** The program; undefined where it is not installed. */
export const haproxyProgram = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  .map((folder) => join(folder, 'haproxy'))
  .find((path) => existsSync(path))

/** HAProxy with the configuration of `deploy/`. */
export interface ProxyServer {
  /** The address that clients use, with TLS. */
  readonly url: string
  /** The same without TLS, for clients of tests that cannot be told of a certificate. */
  readonly plainUrl: string
  /** The address that sends clients to the one with TLS. */
  readonly redirectUrl: string
  readonly certificate: SelfSigned
  /** What HAProxy has logged so far. */
  log(): string
  /** Resolves when the log has said `text`. */
  logged(text: string): Promise<void>
  stop(): Promise<void>
}

/** Starts HAProxy in front of two servers. */
export async function startHaproxy(servers: readonly [string, string]): Promise<ProxyServer> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-haproxy-'))
  const certificate = selfSigned()
  const certificates = join(folder, 'certificates')
  await mkdir(certificates)
  await writeFile(join(certificates, 'forge.pem'), [certificate.cert, certificate.key])
  const [tls, plain, redirect] = [await freePort(), await freePort(), await freePort()]
  const configuration = join(folder, 'haproxy.cfg')
  await writeFile(
    configuration,
    replaceAll(readPage('deploy/haproxy/haproxy.cfg'), [
      // Only root can change its user.
      ['    user haproxy\n    group haproxy\n', '', 1],
      ['bind :80\n', `bind 127.0.0.1:${redirect}\n`, 1],
      ['bind :443 ssl', `bind 127.0.0.1:${plain}\n    bind 127.0.0.1:${tls} ssl`, 1],
      ['/etc/haproxy/certificates/', certificates, 1],
      ['branchline-1:8080', new URL(servers[0]).host, 1],
      ['branchline-2:8080', new URL(servers[1]).host, 1],
    ]),
  )
  const child = spawn(haproxyProgram ?? '', ['-W', '-db', '-f', configuration], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const progress = new EventEmitter()
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk
      progress.emit('change')
    })
  }
  const exited = once(child, 'exit').then(() => progress.emit('change'))
  const logged = async (text: string) => {
    while (!output.includes(text)) {
      if (child.exitCode !== null) throw new Error(`HAProxy has ended: ${output}`)
      await once(progress, 'change')
    }
  }
  await logged('Loading success')
  return {
    url: `https://127.0.0.1:${tls}`,
    plainUrl: `http://127.0.0.1:${plain}`,
    redirectUrl: `http://127.0.0.1:${redirect}`,
    certificate,
    log: () => output,
    logged,
    async stop() {
      child.kill('SIGTERM')
      await exited
      certificate.remove()
      await rm(folder, { recursive: true })
    },
  }
}

/** Replaces texts, each of which must be there as often as it says. */
function replaceAll(
  text: string,
  replacements: readonly (readonly [from: string, to: string, times: number])[],
): string {
  return replacements.reduce((result, [from, to, times]) => {
    const parts = result.split(from)
    if (parts.length !== times + 1)
      throw new Error(`"${from}" is there ${parts.length - 1} times instead of ${times}`)
    return parts.join(to)
  }, text)
}
