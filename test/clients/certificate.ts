import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFileSync } from '../support/programs.ts'

/** A certificate of 127.0.0.1 that vouches for itself. */
export interface SelfSigned {
  readonly cert: Buffer
  readonly key: Buffer
  /** Path of the certificate in PEM. */
  readonly certFile: string
  /** Removes the files. */
  remove(): void
}

/** Makes a key and a certificate that is good for a day. */
export function selfSigned(): SelfSigned {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-tls-'))
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const key = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    keyFile,
  ]
  const subject = [
    '-subj',
    '/CN=Branchline test',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-days',
    '1',
  ]
  execFileSync('openssl', ['req', '-x509', ...key, ...subject, '-out', certFile])
  return {
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    certFile,
    remove: () => rmSync(folder, { recursive: true }),
  }
}
