import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { SshService } from '#gen/branchline/v1/ssh_service_pb.ts'
import type { App } from '../app.ts'
import { DomainError } from '../core/errors.ts'
import { defineService } from '../core/wire/define-service.ts'

/** Implements SshService. */
function sshService({ ssh }: App): ServiceImpl<typeof SshService> {
  return {
    getSshHostKeys(_, { responseHeader }) {
      const host = ssh.host()
      if (!host) throw new DomainError('SSH_IS_OFF')
      responseHeader.set('cache-control', 'public, max-age=300')
      return {
        ...host,
        keys: host.keys.map(({ isActive, ...key }) => ({ ...key, active: isActive })),
      }
    },

    adminListSshSessions: () => ({
      sessions: ssh.sessions().map(({ id, startedAtMs, ...facts }) => ({
        ...facts,
        id: BigInt(id),
        startedAt: timestampFromMs(startedAtMs),
      })),
    }),

    adminDeleteSshSession({ id }) {
      if (!ssh.endSession(Number(id))) throw new DomainError('SSH_SESSION_NOT_FOUND')
      return {}
    },
  }
}

export const ssh = defineService(SshService, sshService)
