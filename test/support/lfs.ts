import { createHash } from 'node:crypto'
import { execFileSync } from './programs.ts'
import type { Actor } from './server.ts'

/** The media type of requests and answers of Git LFS. */
export const LFS_JSON = 'application/vnd.git-lfs+json'

/** What Git LFS answered. */
export interface LfsAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test fails when a field is missing
  readonly body: any
}

/** Returns an object of Git LFS with its content. */
export function lfsObject<T extends string | Buffer>(content: T) {
  const oid = createHash('sha256').update(content).digest('hex')
  return { oid, size: Buffer.byteLength(content), content }
}

/** Returns the pointer file of an object. */
export function pointerOf({ oid, size }: { readonly oid: string; readonly size: number }): string {
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`
}

type Who = Pick<Actor, 'authorization'> | undefined

/** Requests to Git LFS, by somebody or by nobody. */
export interface LfsClient {
  /** @param path behind `/info/lfs/`, or a URL. */
  send(who: Who, method: string, path: string, body?: object): Promise<LfsAnswer>
  batch(
    who: Who,
    operation: string,
    objects: readonly { readonly oid: string; readonly size: number }[],
    rest?: object,
  ): Promise<LfsAnswer>
  /** Uploads an object as clients do: batch, upload, verify. */
  upload(who: Who, content: string): Promise<{ readonly oid: string; readonly size: number }>
}

/** @param repository URL of a repository. */
export function lfsAt(repository: string): LfsClient {
  const send: LfsClient['send'] = async (who, method, path, body) => {
    const url = path.startsWith('http') ? path : `${repository}/info/lfs/${path}`
    const response = await fetch(url, {
      method,
      headers: {
        accept: LFS_JSON,
        ...(body && { 'content-type': LFS_JSON }),
        ...(who && { authorization: who.authorization }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith(LFS_JSON)
    return {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : text,
    }
  }
  const batch: LfsClient['batch'] = (who, operation, objects, rest = {}) => {
    const wanted = objects.map(({ oid, size }) => ({ oid, size }))
    return send(who, 'POST', 'objects/batch', { operation, objects: wanted, ...rest })
  }
  return {
    send,
    batch,
    async upload(who, content) {
      const object = lfsObject(content)
      const { body } = await batch(who, 'upload', [object])
      const { actions } = body.objects[0]
      if (!actions) return object
      const { upload, verify } = actions
      const put = await fetch(upload.href, { method: 'PUT', headers: upload.header, body: content })
      if (put.status !== 200) throw new Error(`${put.status} ${await put.text()}`)
      const link = { authorization: verify.header.Authorization }
      await send(link, 'POST', verify.href, { oid: object.oid, size: object.size })
      return object
    },
  }
}

/** Whether the machine has the real client. */
export const hasGitLfs = canRun()

function canRun(): boolean {
  try {
    execFileSync('git', ['lfs', 'version'])
    return true
  } catch {
    return false
  }
}
