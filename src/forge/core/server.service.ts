import type { ServiceImpl } from '@connectrpc/connect'
import { ServerService } from '#gen/branchline/v1/server_service_pb.ts'
import type { App } from '../app.ts'
import { VERSION } from './version.ts'
import { defineService } from './wire/define-service.ts'

/**
 * The version of the compatible API that this server implements. Clients check it before calls that
 * not every version has.
 */
const FORGE_API_VERSION = '1.24.0'

/** Implements ServerService. */
function serverService(app: App): ServiceImpl<typeof ServerService> {
  return {
    getVersion: () => ({ version: `${FORGE_API_VERSION}+branchline-${VERSION}` }),

    getSigningKey: () => ({
      contentType: 'text/plain; charset=utf-8',
      data: Buffer.from(`${app.commitSigning.line}\n`),
    }),
  }
}

export const serverVersion = defineService(ServerService, serverService)
