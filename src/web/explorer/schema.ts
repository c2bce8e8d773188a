import {
  createFileRegistry,
  type DescMethod,
  type DescService,
  type FileRegistry,
  fromBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import type { Failure } from '#gen/failures.ts'
import { Code, ConnectError } from '../api/calls.ts'
import { inWords } from '../api/network-failure.ts'
import { loadScript } from '../api/scripts.ts'
import { t } from '../language/texts.tsx'

/** The API, as the server describes it. */
export interface ApiSchema {
  readonly registry: FileRegistry
  /** Sorted by their names. */
  readonly services: readonly DescService[]
  /** Returns the comment of an element by its full name; empty without one. */
  comment(fullName: string): string
  /** Returns the failures of a method by its full name. */
  failures(fullName: string): readonly Failure[]
  /** Those that every method may have. */
  readonly generalFailures: readonly Failure[]
}

/**
 * Loads the descriptors from the server, and the comments, which the descriptors lack, and failures.
 * All are large, and only the pages of the API need them.
 */
export async function loadSchema(): Promise<ApiSchema> {
  const [bytes, { comments }, { failures, generalFailures }] = await Promise.all([
    descriptors(),
    loadScript(() => import('#gen/comments.ts')),
    loadScript(() => import('#gen/failures.ts')),
  ])
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes))
  const services = [...registry]
    .filter((element) => element.kind === 'service')
    .sort((a, b) => (a.typeName < b.typeName ? -1 : 1))
  return {
    registry,
    services,
    comment: (name) => comments.get(name) ?? '',
    failures: (name) => failures.get(name) ?? [],
    generalFailures,
  }
}

async function descriptors(): Promise<Uint8Array> {
  const response = await fetch('/schema/branchline.binpb').catch((error: unknown) => {
    throw inWords(error)
  })
  if (!response.ok)
    throw new ConnectError(t('the schema of the API cannot be loaded'), Code.Unavailable)
  return new Uint8Array(await response.arrayBuffer())
}

/** Returns the full name of a method, as the comments have it. */
export function fullNameOf(method: DescMethod): string {
  return `${method.parent.typeName}.${method.name}`
}

/** Returns the address of the page of a method. */
export function methodHref(method: DescMethod): string {
  return `${serviceHref(method.parent)}/${method.name}`
}

/** Returns the address of the page of a service. */
export function serviceHref(service: DescService): string {
  return `/-/api/${service.typeName}`
}
