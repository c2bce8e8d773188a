import type { Catalogue } from '../language/catalogue.ts'

/** Texts of repositories, in French. */
export const french = {
  'There is no rule {rule}. {all}': 'Il n’y a pas de règle {rule}. {all}',
  'All rules': 'Toutes les règles',
  'The first rule that matches the name of a branch applies, and no other rule.':
    'La première règle qui correspond au nom d’une branche s’applique, et aucune autre.',
  'No rules.': 'Aucune règle.',
  'pushes by some': 'pushs par certains',
  'pushes allowed': 'pushs permis',
  'no pushes': 'aucun push',
  '{count} approvals': { one: '{count} approbation', other: '{count} approbations' },
  checks: 'vérifications',
  'signed commits': 'commits signés',
  'texts of commits and names of branches': 'textes des commits et noms des branches',
  'sizes of files': 'tailles des fichiers',
  'merges by some': 'fusions par certains',
  'Delete the rule': 'Supprimer la règle',
  'Branches that match no other rule lose their protection.':
    'Les branches qui ne correspondent à aucune autre règle perdent leur protection.',
  'A review that asks for changes blocks the merge':
    'Une revue qui demande des modifications bloque la fusion',
  'A requested review that is missing blocks the merge':
    'Une revue demandée qui manque bloque la fusion',
  'A push dismisses approvals of the code that changes':
    'Un push annule les approbations du code modifié',
  'Approvals of code that has changed since do not count':
    'Les approbations d’un code modifié depuis ne comptent pas',
  'The pull request must have all commits of the branch':
    'La pull request doit contenir tous les commits de la branche',
  'Each commit needs a verified signature': 'Chaque commit doit avoir une signature vérifiée',
  'Administrators of the repository must keep the rule too':
    'La règle vaut aussi pour les administrateurs du dépôt',
  Nobody: 'Personne',
  'Everybody who may write to the repository': 'Tous ceux qui peuvent écrire dans le dépôt',
  'Only those below': 'Seulement ceux indiqués ci-dessous',
  'Branch rule': 'Règle de branche',
  'Save the rule': 'Enregistrer la règle',
  'A name or a pattern, such as main, release/* or **.':
    'Un nom ou un motif, par exemple main, release/* ou **.',
  'Who may push': 'Qui peut pousser',
  'Users who may push': 'Utilisateurs qui peuvent pousser',
  'One on each line, for the choice “Only those below”.':
    'Une valeur par ligne, pour le choix « Seulement ceux indiqués ci-dessous ».',
  'Teams who may push': 'Équipes qui peuvent pousser',
  'Deploy keys that may write may push too':
    'Les clés de déploiement qui peuvent écrire peuvent aussi pousser',
  'Who may force pushes': 'Qui peut forcer les pushs',
  'Users who may force pushes': 'Utilisateurs qui peuvent forcer les pushs',
  'Teams who may force pushes': 'Équipes qui peuvent forcer les pushs',
  'Approvals that a pull request needs': 'Approbations nécessaires à une pull request',
  'Checks that must succeed': 'Vérifications qui doivent réussir',
  'One on each line: names or patterns, such as ci/*.':
    'Une valeur par ligne : des noms ou des motifs, par exemple ci/*.',
  'Users who may merge': 'Utilisateurs qui peuvent fusionner',
  'One on each line. Without users and teams: everybody who may write to the repository.':
    'Une valeur par ligne. Sans utilisateurs ni équipes : tous ceux qui peuvent écrire dans le dépôt.',
  'Teams who may merge': 'Équipes qui peuvent fusionner',
  'The default style of the repository': 'Le mode par défaut du dépôt',
  'Administrators of the repository': 'Les administrateurs du dépôt',
  'Everybody who may merge what is not ready':
    'Tous ceux qui peuvent fusionner ce qui n’est pas prêt',
  'Pull requests that are tried together': 'Pull requests essayées ensemble',
  'Groups that wait for checks at once': 'Groupes qui attendent des vérifications en même temps',
  'Seconds that a pull request waits for others':
    'Secondes pendant lesquelles une pull request en attend d’autres',
  'Seconds that checks may take': 'Durée maximale des vérifications, en secondes',
  'Merge queue': 'File de fusion',
  'Merge through a queue': 'Fusionner par une file',
  'Needs a rule for one branch, and the names of checks.':
    'Exige une règle pour une seule branche et les noms de vérifications.',
  'Style of the merges': 'Mode de fusion',
  'Checks that only the queue needs': 'Vérifications nécessaires seulement dans la file',
  'One on each line. A pull request enters the queue without them.':
    'Une valeur par ligne. Une pull request entre dans la file sans elles.',
  'Checks that only entering needs': 'Vérifications nécessaires seulement pour entrer',
  'One on each line, such as checks of review bots.':
    'Une valeur par ligne, par exemple les vérifications de robots de revue.',
  'Who may merge past the queue': 'Qui peut fusionner sans passer par la file',
  'Files that nobody may change by a push': 'Fichiers que personne ne peut modifier par un push',
  'Patterns of paths, separated by semicolons.':
    'Motifs de chemins, séparés par des points-virgules.',
  'Files that everybody who may write may change':
    'Fichiers que tous ceux qui peuvent écrire peuvent modifier',
  'Messages of commits match': 'Motif des messages de commit',
  'A regular expression (RE2), such as #[0-9]+. Merges are left out.':
    'Une expression régulière (RE2), par exemple #[0-9]+. Les commits de fusion sont exclus.',
  'Addresses of authors match': 'Motif des adresses des auteurs',
  'A regular expression (RE2), such as @example[.]org$.':
    'Une expression régulière (RE2), par exemple @example[.]org$.',
  'Name of a new branch matches': 'Motif du nom d’une nouvelle branche',
  'A regular expression (RE2), such as ^(feature|fix)/.':
    'Une expression régulière (RE2), par exemple ^(feature|fix)/.',
  'New commits and branches': 'Nouveaux commits et nouvelles branches',
  'Largest file, in bytes': 'Plus grand fichier, en octets',
  '0 for no limit. Larger files can be in Git LFS.':
    '0 pour aucune limite. Les fichiers plus grands peuvent être dans Git LFS.',
  'No collaborators.': 'Aucun collaborateur.',
  'Access of {user}': 'Accès de {user}',
  Change: 'Modifier',
  'Add a collaborator': 'Ajouter un collaborateur',
  'Add the collaborator': 'Ajouter le collaborateur',
  'Added.': 'Ajouté.',
  Access: 'Accès',
  'A deploy key is an SSH key of the repository instead of a user. Where Git over SSH is on, the key fetches from this repository, and pushes to it unless it is read-only.':
    'Une clé de déploiement est une clé SSH du dépôt et non d’un utilisateur. Là où Git par SSH est activé, la clé lit ce dépôt, et y pousse sauf si elle est en lecture seule.',
  'No deploy keys.': 'Aucune clé de déploiement.',
  'read and write': 'lire et écrire',
  'the deploy key {name}': 'la clé de déploiement {name}',
  'Other repositories keep the key.': 'Les autres dépôts gardent la clé.',
  'Add a deploy key': 'Ajouter une clé de déploiement',
  'Add the deploy key': 'Ajouter la clé de déploiement',
  'The deploy key is added.': 'La clé de déploiement est ajoutée.',
  'Name of the deploy key': 'Nom de la clé de déploiement',
  'The key may write': 'La clé peut écrire',
  'Search repositories': 'Rechercher des dépôts',
  'Repositories with the topic {topic}': 'Dépôts avec le thème {topic}',
  'Save the description': 'Enregistrer la description',
  'Public: everybody who may see the owner': 'Public : tous ceux qui peuvent voir le propriétaire',
  'Private: the owner, collaborators and teams':
    'Privé : le propriétaire, les collaborateurs et les équipes',
  'New repositories may begin as a copy of this one (template)':
    'De nouveaux dépôts peuvent être créés à partir d’une copie de celui-ci (modèle)',
  'Default branch': 'Branche par défaut',
  Topics: 'Thèmes',
  'Save the topics': 'Enregistrer les thèmes',
  'One on each line: small letters, digits and hyphens.':
    'Une valeur par ligne : lettres minuscules, chiffres et traits d’union.',
  Features: 'Fonctionnalités',
  'Save the features': 'Enregistrer les fonctionnalités',
  'Save the rules of locks': 'Enregistrer les règles des verrous',
  'Others cannot change a locked file by a push, the API or a merge':
    'Les autres ne peuvent pas modifier un fichier verrouillé par un push, l’API ou une fusion',
  'Save the rules of issues': 'Enregistrer les règles des tickets',
  'Who may open issues and comment on them': 'Qui peut ouvrir des tickets et les commenter',
  'Everyone who may read issues': 'Tous ceux qui peuvent lire les tickets',
  'Contributors: also authors of commits and of earlier issues':
    'Contributeurs : aussi les auteurs de commits et de tickets antérieurs',
  'Collaborators: those who may write': 'Collaborateurs : ceux qui peuvent écrire',
  'Closing words of commits and merges act in every branch':
    'Les mots de fermeture des commits et des fusions agissent dans toutes les branches',
  Merging: 'Fusion',
  'Save how to merge': 'Enregistrer les modes de fusion',
  'Styles that people may choose': 'Modes proposés',
  'Style that is chosen at first': 'Mode choisi au départ',
  'Delete the branch after a merge, unless somebody chooses otherwise':
    'Supprimer la branche après une fusion, sauf choix contraire',
  'When a merge deletes its branch, rebase the pull requests that are stacked on it':
    'Quand une fusion supprime sa branche, rebaser les pull requests empilées dessus',
  'Administrators may mark a pull request as merged by hand':
    'Les administrateurs peuvent marquer une pull request comme fusionnée à la main',
  'Rename the repository': 'Renommer le dépôt',
  'The former address leads to the new one until another repository takes the name.':
    'L’ancienne adresse mène à la nouvelle jusqu’à ce qu’un autre dépôt prenne le nom.',
  '{user} has been asked to take the repository.': '{user} a été invité à prendre le dépôt.',
  'Cancel the transfer': 'Annuler le transfert',
  'Transfer the repository': 'Transférer le dépôt',
  'The new owner may do everything with the repository. A user is asked first. Your own rights may end.':
    'Le nouveau propriétaire peut tout faire avec le dépôt. Un utilisateur est d’abord interrogé. Vos propres droits peuvent prendre fin.',
  'New owner': 'Nouveau propriétaire',
  'Restore the repository': 'Restaurer le dépôt',
  'Archive the repository': 'Archiver le dépôt',
  'Everybody may read the repository as before, and nobody may change anything.':
    'Tout le monde peut lire le dépôt comme avant, et personne ne peut rien modifier.',
  'Delete the repository': 'Supprimer le dépôt',
  'The commits, pull requests, releases and settings are deleted. Only a backup of the server has them then.':
    'Les commits, pull requests, publications et paramètres sont supprimés. Seule une sauvegarde du serveur les contient alors.',
  'Runs before refs move, and can refuse all of them.':
    'S’exécute avant que les refs changent, et peut les refuser toutes.',
  'Runs before each ref moves, and can refuse the ref.':
    'S’exécute avant que chaque ref change, et peut refuser cette ref.',
  'Runs after refs have moved.': 'S’exécute après que les refs ont changé.',
  'A hook is a script that runs on the machine of the server when refs of the repository move.':
    'Un hook est un script qui s’exécute sur la machine du serveur quand des refs du dépôt changent.',
  'Git hooks are for administrators of the server, and only where the server was started with {option}.':
    'Les hooks Git sont réservés aux administrateurs du serveur, et seulement si le serveur a été démarré avec {option}.',
  active: 'actif',
  'Save {hook}': 'Enregistrer {hook}',
  'Script of {hook}': 'Script de {hook}',
  'Without an interpreter in its first line, the script runs in the shell.':
    'Sans interpréteur à la première ligne, le script s’exécute dans le shell.',
  'the script of {hook}': 'le script de {hook}',
  'The script is deleted.': 'Le script est supprimé.',
  'Git repositories and pull requests': 'Dépôts Git et pull requests',
  'A self-hosted home for Git repositories and pull requests.':
    'Des dépôts Git et des pull requests sur votre propre serveur.',
  '{signIn} or {explore}.': '{signIn} ou {explore}.',
  'explore the public repositories': 'explorer les dépôts publics',
  'Your repositories': 'Vos dépôts',
  'your organisations': 'vos organisations',
  'Next steps': 'Étapes suivantes',
  'Push a repository that you have': 'Pousser un dépôt existant',
  'Create a repository with this page first, without files. Then, in your folder:':
    'Créer d’abord un dépôt sans fichiers sur cette page. Puis, dans votre dossier :',
  'Create a token for scripts': 'Créer un jeton pour les scripts',
  'On the page of {page}, or by a command:': 'Sur la page des {page}, ou par une commande :',
  'access tokens': 'jetons d’accès',
  'Command that creates a token': 'Commande qui crée un jeton',
  'Add an SSH key that signs your commits': 'Ajouter une clé SSH qui signe vos commits',
  keys: 'clés',
  'Command that adds a key': 'Commande qui ajoute une clé',
  'Invite somebody': 'Inviter quelqu’un',
  'An administrator creates the account on the machine of the server:':
    'Un administrateur crée le compte sur la machine du serveur :',
  'Command that creates an account': 'Commande qui crée un compte',
  'This server imports no repositories.': 'Ce serveur n’importe pas de dépôts.',
  Import: 'Importation',
  'Import the repository': 'Importer le dépôt',
  'Cancel the import': 'Annuler l’importation',
  'The HTTP or HTTPS address that git clone takes.': 'L’adresse HTTP ou HTTPS pour git clone.',
  'Name of the new repository': 'Nom du nouveau dépôt',
  Private: 'Privé',
  Mirror: 'Miroir',
  'The repository follows the other one, and takes no pushes.':
    'Le dépôt suit l’autre, et n’accepte aucun push.',
  'The other server asks for a password': 'L’autre serveur demande un mot de passe',
  'Username there': 'Nom d’utilisateur sur ce serveur',
  'Password or token there': 'Mot de passe ou jeton sur ce serveur',
  'The server fetches the repository. Leave this page open.':
    'Le serveur récupère le dépôt. Laissez cette page ouverte.',
  'The server packs the objects of this repository by itself, so that clones and fetches cost little. The content stays the same.':
    'Le serveur compacte de lui-même les objets de ce dépôt, pour que les clones et les fetchs coûtent peu. Le contenu reste le même.',
  'The server packs the objects of this repository on request only, so that clones and fetches cost little. The content stays the same.':
    'Le serveur compacte les objets de ce dépôt seulement sur demande, pour que les clones et les fetchs coûtent peu. Le contenu reste le même.',
  'Run maintenance': 'Lancer la maintenance',
  'Run now': 'Lancer maintenant',
  'The server has the request. The steps run soon.':
    'Le serveur a reçu la demande. Les étapes s’exécutent bientôt.',
  'Owners can ask once an hour.': 'Les propriétaires peuvent le demander une fois par heure.',
  bitmap: 'bitmap',
  'common index': 'index commun',
  '{count} steps failed in a row: {error}.': {
    one: '{count} étape a échoué de suite : {error}.',
    other: '{count} étapes ont échoué de suite : {error}.',
  },
  'The server tries again {time}.': 'Le serveur réessaie {time}.',
  Packs: 'Packs',
  'Objects outside packs': 'Objets hors des packs',
  'about {count}, {size}': 'environ {count}, {size}',
  'Without files shared with forks': 'Sans les fichiers partagés avec les forks',
  'Files for clones': 'Fichiers pour les clones',
  none: 'aucun',
  'Graph of commits': 'Graphe des commits',
  'Steps that are due': 'Étapes à exécuter',
  'Requested steps': 'Étapes demandées',
  'Next look': 'Prochain examen',
  '{packs}, {size}, {shared} shared with forks':
    '{packs}, {size}, {shared} en commun avec les forks',
  'No step has run.': 'Aucune étape n’a été exécutée.',
  'Table of steps': 'Tableau des étapes',
  'Latest run of each step': 'Dernière exécution de chaque étape',
  Step: 'Étape',
  Start: 'Début',
  Seconds: 'Secondes',
  Result: 'Résultat',
  done: 'terminée',
  'New release': 'Nouvelle publication',
  'Create the release': 'Créer la publication',
  Tag: 'Tag',
  'A tag that does not exist is created.': 'Un tag qui n’existe pas est créé.',
  'Branch or commit of a new tag': 'Branche ou commit d’un nouveau tag',
  'Title (optional)': 'Titre (facultatif)',
  'Generate notes': 'Générer les notes',
  'Names the pull requests that were merged since the release before.':
    'Cite les pull requests fusionnées depuis la publication précédente.',
  'Notes in Markdown (optional)': 'Notes en Markdown (facultatif)',
  'Pre-release': 'Préversion',
  'Draft, which only writers see': 'Brouillon, visible seulement de ceux qui peuvent écrire',
  '{user} offers you this repository.': '{user} vous propose ce dépôt.',
  'Take the repository': 'Prendre le dépôt',
  Refuse: 'Refuser',
  'No releases.': 'Aucune publication.',
  'pre-release': 'préversion',
  '{tag} by {author} {time}': '{tag} par {author} {time}',
  'Add a file to {release}': 'Ajouter un fichier à {release}',
  Upload: 'Envoyer',
  'to {release}': 'vers {release}',
  '{percent} % sent': '{percent} % envoyés',
  'The server stores the file': 'Le serveur enregistre le fichier',
  'Unstar ({count})': 'Retirer l’étoile ({count})',
  'Star ({count})': 'Ajouter une étoile ({count})',
  'Unwatch ({count})': 'Ne plus suivre ({count})',
  'Watch ({count})': 'Suivre ({count})',
  'Fork ({count})': 'Forker ({count})',
  'You own the repository, and you are in no organisation that could own a fork.':
    'Le dépôt est à vous, et vous n’êtes dans aucune organisation qui pourrait posséder un fork.',
  Fork: 'Fork',
  'Create the fork': 'Créer le fork',
  'Owner of the fork': 'Propriétaire du fork',
  'Name of the fork': 'Nom du fork',
  'Use this template': 'Utiliser ce modèle',
  'Owner of the repository': 'Propriétaire du dépôt',
  'Name of the repository': 'Nom du dépôt',
  'With the topics of the template': 'Avec les thèmes du modèle',
  'With the labels of the template': 'Avec les étiquettes du modèle',
  private: 'privé',
  'Updated {time}': 'Mis à jour {time}',
  'New repository': 'Nouveau dépôt',
  'Create the repository': 'Créer le dépôt',
  'Begin with a README': 'Commencer par un README',
  'Files that Git ignores (optional)': 'Fichiers que Git ignore (facultatif)',
  'Languages and tools, separated by commas, such as Node':
    'Langages et outils, séparés par des virgules, par exemple Node',
  'Licence (optional)': 'Licence (facultatif)',
  'An identifier of SPDX, such as MIT': 'Un identifiant SPDX, par exemple MIT',
  'Branch rules': 'Règles de branche',
  Collaborators: 'Collaborateurs',
  'Deploy keys': 'Clés de déploiement',
  'Tag rules': 'Règles de tag',
  'Git hooks': 'Hooks Git',
  'The repository is archived. Restore the repository in the general settings to change anything else.':
    'Le dépôt est archivé. Restaurez-le dans les paramètres généraux pour modifier quoi que ce soit d’autre.',
  'Only administrators of the repository see and change its settings.':
    'Seuls les administrateurs du dépôt voient et modifient ses paramètres.',
  fork: 'fork',
  mirror: 'miroir',
  'A rule names who may create, move and delete the tags that match its pattern. If several rules match a tag, one of them has to name the user.':
    'Une règle indique qui peut créer, déplacer et supprimer les tags qui correspondent à son motif. Si plusieurs règles correspondent à un tag, l’une d’elles doit nommer l’utilisateur.',
  'the team {team}': 'l’équipe {team}',
  'for nobody': 'pour personne',
  'for {names}': 'pour {names}',
  'Change the rule {name}': 'Modifier la règle {name}',
  'Delete the rule {name}': 'Supprimer la règle {name}',
  'The tags that only this rule matches are not protected afterwards.':
    'Les tags auxquels seule cette règle correspond ne sont plus protégés ensuite.',
  'Add a rule': 'Ajouter une règle',
  'The rule is created.': 'La règle est créée.',
  'A pattern for the whole name, such as v*, or a regular expression between slashes.':
    'Un motif pour le nom entier, par exemple v*, ou une expression régulière entre barres obliques.',
  'Users who may change the tags': 'Utilisateurs qui peuvent modifier les tags',
  'Teams who may change the tags': 'Équipes qui peuvent modifier les tags',
} satisfies Catalogue
