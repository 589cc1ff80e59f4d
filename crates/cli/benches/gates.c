/* What comparisons answer, estimate and find, by a program that shares nothing with skill-evals but the rules of
 * docs/contributing/proofs.md:
 *
 *     cc -O2 -o target/gates crates/cli/benches/gates.c -lm && target/gates
 *
 * prints the tables of that page: what is estimated on average, what the quick plan finds, and the false alarms of a year of gates.
 * A number as argument divides the numbers of comparisons.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 40, PAIRS = 450 };
enum plan { QUICK, STANDARD, UNTIL_DECIDED };

/* Random numbers: splitmix64. */
static uint64_t state = 29;

static double uniform(void) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static bool happens(double chance) { return uniform() < chance; }

static double gamma_draw(double shape) {
    double d = shape + 1 - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()), v = pow(1 + c * x, 3);
        if (v > 0 && log(uniform()) < x * x / 2 + d - d * v + d * log(v)) return fmax(d * v * pow(uniform(), 1 / shape), 1e-300);
    }
}

/* The evidence of losses and wins: 2^(b+c) · 8/3 · B(b+2, c+1) · I½(c+1, b+2); the last is a sum of binomial weights. */
static double evidence[PAIRS][PAIRS];

static void fill_evidence(void) {
    for (int b = 0; b < PAIRS; b++)
        for (int c = 0; c < PAIRS; c++) {
            int n = b + c + 2, from = c + 1 > n / 2 ? c + 1 : 0, to = c + 1 > n / 2 ? n : c;
            double sum = 0;
            for (int k = from; k <= to; k++) sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * M_LN2);
            double above = from ? sum : 1 - sum;
            evidence[b][c] = 8.0 / 3 * exp((b + c) * M_LN2 + lgamma(b + 2) + lgamma(c + 1) - lgamma(n + 1) + log(above));
        }
}

struct rounds { int losses, wins, ties; };

/* 32 bets against "the mean difference is m or less". */
static double above(struct rounds of, double m) {
    double sum = 0;
    for (int at = 0; at < 32; at++) {
        double u = (at + 0.5) / 32, ln = 0;
        if (of.wins) ln += of.wins * log(1 + u * (1 - m) / (1 + m));
        if (of.ties) ln += of.ties * log(1 - u * m / (1 + m));
        if (of.losses) ln += of.losses * log(1 - u);
        sum += (1 + u) * exp(ln);
    }
    return sum / 48;
}

static struct rounds turned(struct rounds of) { return (struct rounds){of.wins, of.losses, of.ties}; }

/* The end of the 95 % interval above; of the turned rounds it is the one below, with its sign changed. */
static double upper(struct rounds of) {
    double low = -1, high = 1;
    for (int step = 0; step < 40; step++) {
        double middle = (low + high) / 2;
        if (above(turned(of), -middle) >= 40) high = middle;
        else low = middle;
    }
    return high;
}

struct rule { enum plan plan; int cases, pairs; double alpha, margin; };

struct one { int losses, wins, tried, passed; signed char seen[PAIRS]; };

struct answer {
    bool broke, worse, better;
    int pairs, tried, fresh; /* cases that were tried; new trials, of both sides */
    struct rounds first, complete;
    bool ended_in_first;
    int both; /* first pairs that both sides passed */
};

/* The trials of the base that are kept, by case: each may be used by any number of comparisons, once by each. */
struct kept { int count[CASES]; bool passed[CASES][PAIRS]; };

/* A comparison. The first trials of the base are taken from `kept`, and new ones of its first round are added to `keep`. */
static struct answer compare(const struct rule *rule, const double *before, const double *after, const struct kept *kept, struct kept *keep) {
    static struct one of[CASES];
    struct answer found = {0};
    double enough = 1 / rule->alpha, harm = 1, most_harm = 1, worse = 1, better = 1, no_worse = 1;
    int losses = 0, wins = 0, rounds = 0, untried = 0, n = rule->cases;
    for (int at = 0; at < n; at++) of[at].losses = of[at].wins = of[at].tried = of[at].passed = 0;
    while (found.pairs < rule->pairs) {
        int suspects[CASES], open[CASES], count = 0, opens = 0;
        bool shown = most_harm >= enough;
        for (int at = 0; at < n; at++)
            if (!shown && of[at].tried && 2 * of[at].passed < of[at].tried && (of[at].tried < 2 || 2 * of[at].losses >= of[at].tried))
                suspects[count++] = at;
        double near_better = above(found.complete, 0);
        bool good = better >= enough || (no_worse >= enough && near_better * near_better < enough);
        bool mean = worse >= enough || (good && count == 0);
        if (rule->plan == QUICK ? shown || (untried == n && count == 0) : rule->plan == STANDARD ? shown || mean : mean) break;
        int next;
        if (untried < n) next = untried++;
        else {
            if (count || rule->plan == QUICK) memcpy(open, suspects, sizeof open), opens = count;
            else for (; opens < n; opens++) open[opens] = opens;
            next = open[0];
            for (int at = 1; at < opens; at++) if (of[open[at]].tried < of[next].tried) next = open[at];
            bool for_mean = rule->plan != QUICK && (shown || fmax(near_better, above(found.complete, -rule->margin)) > harm);
            if (!for_mean && opens > 1) {
                double now = log(evidence[losses][wins]), best = -INFINITY;
                double loss = log(evidence[losses + 1][wins]) - now, win = log(evidence[losses][wins + 1]) - now;
                for (int at = 0; at < opens; at++) {
                    struct one *one = &of[open[at]];
                    double l = gamma_draw(1.0 / 16 + one->losses), w = gamma_draw(1.0 / 16 + one->wins);
                    double t = gamma_draw(0.5 + one->tried - one->losses - one->wins), adds = (l * loss + w * win) / (l + w + t);
                    if (adds > best) best = adds, next = open[at];
                }
            }
        }
        struct one *one = &of[next];
        bool is_kept = kept && one->tried < kept->count[next];
        bool a = is_kept ? kept->passed[next][one->tried] : happens(before[next]), b = happens(after[next]);
        found.fresh += 1 + !is_kept;
        if (keep && one->tried == 0 && !is_kept && keep->count[next] < PAIRS) keep->passed[next][keep->count[next]++] = a;
        if (one->tried == 0) {
            found.tried++;
            found.first.losses += a && !b, found.first.wins += b && !a, found.first.ties += a == b, found.both += a && b;
        }
        one->seen[one->tried++] = (signed char)(b - a);
        one->passed += b, one->losses += a && !b, one->wins += b && !a, losses += a && !b, wins += b && !a, found.pairs++;
        if (a != b) {
            double own = 0;
            for (int at = 0; at < n; at++) own += evidence[of[at].losses][of[at].wins] / n;
            harm = 0.95 * evidence[losses][wins] + 0.05 * own;
            most_harm = fmax(most_harm, harm);
        }
        int least = one->tried;
        for (int at = 0; at < n; at++) if (of[at].tried < least) least = of[at].tried;
        if (least > rounds) {
            for (int at = 0; at < n; at++) {
                int seen = of[at].seen[rounds];
                found.complete.losses += seen < 0, found.complete.wins += seen > 0, found.complete.ties += seen == 0;
            }
            rounds = least;
            worse = fmax(worse, above(turned(found.complete), 0));
            better = fmax(better, above(found.complete, 0));
            no_worse = fmax(no_worse, above(found.complete, -rule->margin));
        }
        found.ended_in_first = rule->plan != UNTIL_DECIDED && most_harm >= enough && found.pairs == found.tried;
    }
    found.broke = most_harm >= enough;
    found.better = better >= enough, found.worse = worse >= enough && !found.better;
    return found;
}

/* The mean difference by the first round: what its first pair yields on average, over all orders that would not have ended it before. */
static double estimate(const struct rule *rule, const struct answer *found) {
    static double all[PAIRS][PAIRS], begun[PAIRS][PAIRS];
    int last = found->ended_in_first, losses = found->first.losses - last, wins = found->first.wins, n = rule->cases;
    for (int l = 0; l <= losses; l++)
        for (int w = 0; w <= wins; w++) {
            double own = (l * evidence[1][0] + w * evidence[0][1] + n - l - w) / n;
            bool ends = 0.95 * evidence[l][w] + 0.05 * own >= 1 / rule->alpha;
            all[l][w] = ends ? 0 : l + w == 0 ? 1 : (l ? all[l - 1][w] : 0) + (w ? all[l][w - 1] : 0);
            begun[l][w] = ends || l + w == 0 ? 0 : l + w == 1 ? l : (l ? begun[l - 1][w] : 0) + (w ? begun[l][w - 1] : 0);
        }
    double of_losses = losses + wins ? begun[losses][wins] / all[losses][wins] : 0;
    return (losses + wins) * (1 - 2 * of_losses) / (found->tried - last);
}

static int divided = 1;

static void estimates(void) {
    static const struct { const char *name; int cases, broken; double from, to, before, after; } SUITES[] = {
        {"10 harmless, .9", 10, 0, 0, 0, .9, .9}, {"10 harmless, .5", 10, 0, 0, 0, .5, .5}, {"1 of 10: 1 → 0", 10, 1, 1, 0, .9, .9},
        {"10: all .9 → .8", 10, 0, 0, 0, .9, .8}, {"10: all .9 → .5", 10, 0, 0, 0, .9, .5}, {"10: all .9 → .3", 10, 0, 0, 0, .9, .3},
        {"10: all .5 → .4", 10, 0, 0, 0, .5, .4}, {"16: all .5 → .6", 16, 0, 0, 0, .5, .6}, {"40: all .9 → .7", 40, 0, 0, 0, .9, .7},
        {"1 case: .9 → .6", 1, 0, 0, 0, .9, .6},
    };
    printf("| suite | truth | estimate of `quick`, mean | ended in the first round | its interval holds | that of `standard` | that of `until-decided` |\n");
    printf("| --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t at = 0; at < sizeof SUITES / sizeof *SUITES; at++) {
        double before[CASES], after[CASES], truth = 0, holds[3] = {0}, sum = 0, early = 0;
        int n = SUITES[at].cases, runs[3] = {20000 / divided, 2000 / divided, 400 / divided};
        for (int one = 0; one < n; one++) {
            bool breaks = one < SUITES[at].broken;
            before[one] = breaks ? SUITES[at].from : SUITES[at].before, after[one] = breaks ? SUITES[at].to : SUITES[at].after;
            truth += (after[one] - before[one]) / n;
        }
        for (enum plan plan = QUICK; plan <= UNTIL_DECIDED; plan++) {
            struct rule rule = {plan, n, plan == UNTIL_DECIDED ? 400 : 200, 0.05, 0.05};
            for (int run = 0; run < runs[plan]; run++) {
                struct answer found = compare(&rule, before, after, NULL, NULL);
                struct rounds of = plan == QUICK && found.tried == n ? found.first : found.complete;
                holds[plan] += -upper(turned(of)) <= truth + 1e-9 && truth <= upper(of) + 1e-9;
                if (plan == QUICK) sum += estimate(&rule, &found), early += found.tried < n || found.ended_in_first;
            }
        }
        printf("| %s | %+.1f | %+.1f | %.0f %% | %.1f %% | %.1f %% | %.1f %% |\n", SUITES[at].name, 100 * truth, 100 * sum / runs[0],
               100 * early / runs[0], 100 * holds[0] / runs[0], 100 * holds[1] / runs[1], 100 * holds[2] / runs[2]);
    }
}

/* The share of comparisons that find harm. */
static double found(const struct rule *rule, const double *before, const double *after, int runs) {
    int count = 0;
    for (int run = 0; run < runs; run++) {
        struct answer answer = compare(rule, before, after, NULL, NULL);
        count += answer.broke || answer.worse;
    }
    return (double)count / runs;
}

static void power(void) {
    static const int MANY[] = {3, 5, 10, 20, 40};
    printf("\n| cases | the drop from 90 %% that `quick` finds in 80 %% | that of `standard` | 1 → 0 by `quick` | with a judge that is wrong one time in ten |\n");
    printf("| --- | --- | --- | --- | --- |\n");
    for (int at = 0; at < 5; at++) {
        int n = MANY[at], drops[2];
        double before[CASES], after[CASES];
        for (enum plan plan = QUICK; plan <= STANDARD; plan++) {
            struct rule rule = {plan, n, 200, 0.05, 0.05};
            int low = 0, high = 90;
            while (high - low > 1) {
                int middle = (low + high) / 2;
                for (int one = 0; one < n; one++) before[one] = 0.9, after[one] = 0.9 - middle / 100.0;
                if (found(&rule, before, after, 4000 / divided) >= 0.8) high = middle;
                else low = middle;
            }
            drops[plan] = high;
        }
        double dead[2];
        for (int judged = 0; judged < 2; judged++) {
            struct rule rule = {QUICK, n, 200, 0.05, 0.05};
            for (int one = 0; one < n; one++) before[one] = after[one] = judged ? 0.82 : 0.9;
            before[0] = judged ? 0.9 : 1, after[0] = judged ? 0.1 : 0;
            dead[judged] = found(&rule, before, after, 4000 / divided);
        }
        printf("| %d | %d points | %d points | %.0f %% | %.0f %% |\n", n, drops[0], drops[1], 100 * dead[0], 100 * dead[1]);
    }
}

enum { GATES = 500, YEARS = 200, IN_SUITE = 12 };

/* A year of pull requests. Of 10, one harms: 10 to 100 points of one to all cases. */
static void year(double rate, bool is_of_year, bool keeps, bool neighbors, double drift) {
    double new_trials = 0;
    long alarms = 0, bad = 0, harmless = 0, harmful = 0, caught = 0, after_miss = 0, bad_after_miss = 0, bad_years = 0;
    int years = YEARS / divided;
    struct rule rule = {QUICK, IN_SUITE, 200, is_of_year ? 0.05 / GATES : 0.05, 0.05};
    for (int number = 0; number < years; number++) {
        static struct kept kept;
        memset(&kept, 0, sizeof kept);
        double base[CASES], provider = 0;
        int since_miss = -1;
        bool any = false;
        for (int at = 0; at < IN_SUITE; at++) base[at] = rate > 0 ? rate : at % 3 == 0 ? 1 : at % 3 == 1 ? 0.9 : 0.5;
        double sound[CASES];
        memcpy(sound, base, sizeof sound);
        for (int gate = 0; gate < GATES; gate++) {
            if (drift > 0 && happens(1.0 / 50)) provider = (2 * uniform() - 1) * drift;
            /* A neighbor is edited: something that is offered to every case differs, so no kept trial is of these contents. */
            if (neighbors && happens(1.0 / 3)) memset(&kept, 0, sizeof kept);
            double before[CASES], after[CASES];
            bool harms = happens(0.1);
            double effect = 0.1 + 0.9 * uniform();
            int hit = 1 + (int)(uniform() * IN_SUITE), offset = (int)(uniform() * IN_SUITE);
            for (int at = 0; at < IN_SUITE; at++) {
                before[at] = fmin(1, fmax(0, base[at] + (base[at] < 1 ? provider : 0)));
                bool is_hit = harms && (at + offset) % IN_SUITE < hit;
                after[at] = is_hit ? fmax(0, before[at] - effect) : before[at];
            }
            /* Every fifth gate follows a night: a run of the base, whose trials may stand for later ones. */
            if (keeps && gate % 5 == 0)
                for (int at = 0; at < IN_SUITE; at++)
                    if (kept.count[at] < PAIRS) kept.passed[at][kept.count[at]++] = happens(before[at]);
            struct answer answer = compare(&rule, before, after, keeps ? &kept : NULL, keeps ? &kept : NULL);
            /* Who runs a gate with an alarm again, with the same contents, gets the same answer. */
            new_trials += answer.fresh, alarms += answer.broke;
            harmless += !harms, harmful += harms, bad += answer.broke && !harms, caught += answer.broke && harms, any |= answer.broke && !harms;
            if (since_miss >= 0 && !harms) after_miss++, bad_after_miss += answer.broke;
            /* Half of what passed is merged before the next gate; then the base has other contents and is measured again. A harm that
             * was merged is found by people ten gates later and taken back. */
            if (since_miss >= 0 && ++since_miss > 10) since_miss = -1, memcpy(base, sound, sizeof base), memset(&kept, 0, sizeof kept);
            if (!answer.broke && happens(0.5)) {
                memset(&kept, 0, sizeof kept);
                if (harms && since_miss < 0) {
                    since_miss = 0;
                    for (int at = 0; at < IN_SUITE; at++) base[at] = (at + offset) % IN_SUITE < hit ? fmax(0, base[at] - effect) : base[at];
                }
            }
        }
        bad_years += any;
    }
    printf("| %s | %s | %s | %s | %s | %.2f %% | %.2f %% | %.1f %% | %.0f %% | %.1f |\n", rate > 0 ? (rate > 0.7 ? "all .9" : "all .5") : "1, .9, .5",
           is_of_year ? "year" : "gate", keeps ? "yes" : "no", neighbors ? "yes" : "no", drift > 0 ? "moves by up to .1" : "same",
           100.0 * bad / harmless, after_miss ? 100.0 * bad_after_miss / after_miss : 0, 100.0 * bad_years / years,
           100.0 * caught / harmful, new_trials / (years * (double)GATES));
}

int main(int count, char **arguments) {
    divided = count > 1 ? atoi(arguments[1]) : 1;
    fill_evidence();
    estimates();
    power();
    printf("\n| suite | promise | kept trials | a neighbor is edited before one gate in three | provider | harmless gates with an alarm | of those after a merged miss | years with a false alarm | harmful found | new trials, mean |\n");
    printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    static const double RATES[] = {0.9, 0.5, 0};
    for (int promise = 0; promise < 2; promise++)
        for (int suite = 0; suite < 3; suite++) {
            year(RATES[suite], promise, false, false, 0);
            year(RATES[suite], promise, true, false, 0);
            year(RATES[suite], promise, true, true, 0);
            year(RATES[suite], promise, true, true, 0.1);
        }
    return 0;
}
