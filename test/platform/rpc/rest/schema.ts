import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DescMessage, DescMethod, DescService, FileRegistry } from '@bufbuild/protobuf'
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { execFileSync } from '../../../support/programs.ts'

const projectRoot = fileURLToPath(new URL('../../../../', import.meta.url))

/** What a schema of a test may import, besides google/protobuf, which the compiler brings along. */
const importable: Record<string, string> = {
  'google/api/annotations.proto': 'node_modules/google-proto-files/google/api/annotations.proto',
  'google/api/field_behavior.proto':
    'node_modules/google-proto-files/google/api/field_behavior.proto',
  'google/api/http.proto': 'node_modules/google-proto-files/google/api/http.proto',
  'google/api/httpbody.proto': 'node_modules/google-proto-files/google/api/httpbody.proto',
  'google/rpc/error_details.proto':
    'node_modules/google-proto-files/google/rpc/error_details.proto',
  'google/rpc/status.proto': 'node_modules/google-proto-files/google/rpc/status.proto',
  'branchline/access/v1/access.proto': 'proto/branchline/access/v1/access.proto',
  'rest/v1/rest.proto': 'proto/rest/v1/rest.proto',
}

const compiled = new Map<string, FileRegistry>()

/**
 * Compiles proto files at run time, the way a descriptor set reaches a server: custom options
 * arrive as unknown fields. A plain string is one file, `test.proto`; a record maps paths to texts.
 * The texts may import google/protobuf, google/api/{annotations,field_behavior,http,httpbody},
 * google/rpc/{status,error_details} and our own options. Throws with the compiler's output if they
 * do not compile. Results are cached by text.
 */
export function compileSchema(protoText: string | Record<string, string>): FileRegistry {
  const files = typeof protoText === 'string' ? { 'test.proto': protoText } : protoText
  const key = JSON.stringify(files)
  let registry = compiled.get(key)
  if (registry === undefined) {
    registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, buildImage(files)))
    compiled.set(key, registry)
  }
  return registry
}

/** The message of that full name; throws if the schema has none. */
export function messageOf(registry: FileRegistry, typeName: string): DescMessage {
  const desc = registry.getMessage(typeName)
  if (desc === undefined) throw new Error(`no message ${typeName} in the schema`)
  return desc
}

/** The service of that full name; throws if the schema has none. */
export function serviceOf(registry: FileRegistry, typeName: string): DescService {
  const desc = registry.getService(typeName)
  if (desc === undefined) throw new Error(`no service ${typeName} in the schema`)
  return desc
}

/** The method of that name; throws if the service has none. */
export function methodOf(service: DescService, name: string): DescMethod {
  const desc = service.methods.find((method) => method.name === name)
  if (desc === undefined) throw new Error(`no method ${name} in ${service.typeName}`)
  return desc
}

function buildImage(files: Record<string, string>): Uint8Array {
  const dir = mkdtempSync(join(tmpdir(), 'branchline-schema-'))
  try {
    for (const [path, source] of Object.entries(importable)) {
      cpSync(join(projectRoot, source), join(dir, path), { recursive: true })
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), text)
    }
    return execFileSync(join(projectRoot, 'node_modules/.bin/buf'), ['build', '.', '-o', '-'], {
      cwd: dir,
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
